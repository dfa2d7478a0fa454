"""A body is bounded before it is kept anywhere, and read as UTF-8 alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dolphy.bounded import Bounded

LIMIT = 100


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Reads the whole body, as Django does, and says how long it was."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message["body"])
        more = message.get("more_body", False)
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": str(size).encode()})


def post(chunks: list[bytes], declared: str | None = None, kind: str | None = None) -> int:
    """The status that a body in these chunks is answered with."""
    sent: list[Any] = []
    waiting = list(chunks)

    async def receive() -> Any:
        body = waiting.pop(0)
        return {"type": "http.request", "body": body, "more_body": bool(waiting)}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"content-length", declared.encode())] if declared is not None else []
    headers += [(b"content-type", kind.encode("latin-1"))] if kind is not None else []
    scope = {"type": "http", "headers": headers}
    asyncio.run(Bounded(echo, LIMIT)(scope, receive, send))
    return int(sent[0]["status"])


@pytest.mark.parametrize(
    ("chunks", "declared", "status"),
    [
        ([b"x" * 100], "100", 200),
        ([b"x" * 60, b"x" * 40], None, 200),
        ([b"x" * 60, b"x" * 41], None, 413),
        ([b"x" * 101], "10", 413),
        ([b""], "101", 413),
        ([b""], "-1", 413),
        ([b""], "1e9", 413),
    ],
)
def test_a_body_over_the_limit_is_refused_however_it_comes(
    chunks: list[bytes], declared: str | None, status: int
) -> None:
    assert post(chunks, declared) == status


@pytest.mark.parametrize("charset", ["utf-8", "UTF8", '"utf-8"', "us-ascii"])
def test_a_body_in_utf8_is_read(charset: str) -> None:
    assert post([b"x"], kind=f"application/json; charset={charset}") == 200
    assert post([b"x"], kind="multipart/form-data; boundary=charset") == 200


@pytest.mark.parametrize("charset", ["idna", "zlib", "rot13", "utf-16", "nobody", "\xe9", "''"])
def test_a_body_in_another_codec_is_refused(charset: str) -> None:
    assert post([b"x"], kind=f"multipart/form-data; boundary=X; charset={charset}") == 400
