"""What a request may be before Django sees it.

A body is bounded here, before Django spools it to disk: by the length it declares, or as it comes
when it declares none. So is what a request is written in: Django takes any codec that the caller
names, and some of them end it before any view could refuse.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from django.utils.http import parse_header_parameters

from dolphy.marks import is_utf8

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

FRAMING = 1024 * 1024  # what a multipart upload may add to its file
TOO_LARGE = b'{"error": {"code": "too_large", "message": "The request is too large."}}'
NOT_UTF8 = b'{"error": {"code": "malformed", "message": "Only UTF-8 is read."}}'


class BodyTooLarge(Exception):
    pass


class Bounded:
    """An ASGI application that answers 413 to a body over `limit` bytes, 400 to a strange codec."""

    def __init__(self, application: Any, limit: int) -> None:
        self.application, self.limit = application, limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.application(scope, receive, send)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self.limit:
            return await _refuse(send)
        if not _is_readable(scope):
            return await _refuse(send, 400, NOT_UTF8)
        try:
            return await self.application(scope, self._counted(receive), send)
        except BodyTooLarge:
            return await _refuse(send)

    def _counted(self, receive: Receive) -> Receive:
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self.limit:
                raise BodyTooLarge
            return message

        return counted


def _is_readable(scope: Message) -> bool:
    kinds = [value for name, value in scope["headers"] if name == b"content-type"]
    try:
        _, options = parse_header_parameters(b",".join(kinds).decode("latin-1"))
    except ValueError:
        return False
    return is_utf8(options.get("charset", "utf-8"))


async def _refuse(send: Send, status: int = 413, body: bytes = TOO_LARGE) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
