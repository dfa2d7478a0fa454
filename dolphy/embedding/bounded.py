"""HTTP whose answers end: within a time, within a size, and with what was asked for.

The timeouts of an HTTP client are for each read, so an endpoint that drips a byte now and then
holds its caller as long as it likes. Here every read and write gets what is left of the request's
time in all, headers included. What comes too late, too large or is no answer at all (the page of a
proxy, half a JSON) is raised as a fault of the transport, which `openai` repeats like any other.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import httpcore2
import httpx2
from openai import DefaultHttpxClient

_deadline: ContextVar[float | None] = ContextVar("http_deadline", default=None)


class NoAnswer(httpx2.DecodingError):
    """The answer is none, whatever its status says."""


class BoundedClient(DefaultHttpxClient):
    """`seconds` and `size` (bytes, unpacked) bound an answer; `check` raises ValueError for a body
    that is none."""

    def __init__(
        self, *, seconds: float, size: int, check: Callable[[bytes], None], **options: Any
    ) -> None:
        super().__init__(**options)
        self._seconds, self._size, self._check = seconds, size, check
        for transport in (self._transport, *self._mounts.values()):
            if isinstance(transport, httpx2.HTTPTransport):
                pool = transport._pool  # private, but the client takes no backend of ours
                pool._network_backend = _Backend(pool._network_backend)

    def send(
        self, request: httpx2.Request, *, stream: bool = False, **options: Any
    ) -> httpx2.Response:
        """As of any client, and raises `ReadTimeout` or `NoAnswer` beside."""
        with _within(self._seconds):
            response = super().send(request, stream=True, **options)
            try:
                body = self._body(response)
            finally:
                response.close()
        if response.is_success:
            self._require_answer(body, response.request)
        return _read(response, body)

    def _body(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        for part in response.iter_bytes():
            body += part
            if len(body) > self._size:
                raise NoAnswer(f"over {self._size:,} bytes", request=response.request)
        return bytes(body)

    def _require_answer(self, body: bytes, request: httpx2.Request) -> None:
        try:
            self._check(body)
        except (ValueError, RecursionError) as error:
            raise NoAnswer(str(error), request=request) from error


def _read(response: httpx2.Response, body: bytes) -> httpx2.Response:
    """The response with its body, which is JSON whatever it was called and however packed."""
    headers = httpx2.Headers(response.headers)
    for name in ("content-encoding", "content-length", "transfer-encoding"):
        headers.pop(name, None)
    headers["content-type"] = "application/json"
    return httpx2.Response(
        response.status_code, headers=headers, content=body, request=response.request
    )


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """What this thread reads and writes until the block ends must take no longer."""
    before = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(before)


def _left(timeout: float | None, over: type[httpcore2.TimeoutException]) -> float | None:
    """`timeout`, or what is left of the request's time when that is less."""
    deadline = _deadline.get()
    if deadline is None:
        return timeout
    left = deadline - time.monotonic()
    if left <= 0:
        raise over("The request took too long in all.")
    return left if timeout is None else min(timeout, left)


class _Backend(httpcore2.NetworkBackend):
    """The network, whose streams look at the deadline."""

    def __init__(self, inner: httpcore2.NetworkBackend) -> None:
        self._inner = inner

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *rest: Any, **options: Any
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.connect_tcp(host, port, left, *rest, **options))

    def connect_unix_socket(
        self, path: str, timeout: float | None = None, *rest: Any, **options: Any
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.connect_unix_socket(path, left, *rest, **options))

    def sleep(self, seconds: float) -> None:
        self._inner.sleep(seconds)


class _Stream(httpcore2.NetworkStream):
    def __init__(self, inner: httpcore2.NetworkStream) -> None:
        self._inner = inner

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._inner.read(max_bytes, _left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._inner.write(buffer, _left(timeout, httpcore2.WriteTimeout))

    def close(self) -> None:
        self._inner.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        left = _left(timeout, httpcore2.ConnectTimeout)
        return _Stream(self._inner.start_tls(ssl_context, server_hostname, left))

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)
