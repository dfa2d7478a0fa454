"""The web process: what uvicorn serves.

A body is bounded here, before Django spools it to disk: by the length it declares, or as it comes
when it declares none.
"""

import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

# Requests run in many short-lived threads here, so connections come from a pool; everything
# else (worker, commands, tests) lives in one thread a process and keeps one connection.
os.environ.setdefault("DATABASE_POOL", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dolphy.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

FRAMING = 1024 * 1024  # what a multipart upload may add to its file
TOO_LARGE = b'{"error": {"code": "too_large", "message": "The request is too large."}}'


class BodyTooLarge(Exception):
    pass


class Bounded:
    """An ASGI application that answers 413 to a body over `limit` bytes."""

    def __init__(self, application: Any, limit: int) -> None:
        self.application, self.limit = application, limit

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.application(scope, receive, send)
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if not declared.isdigit() or int(declared) > self.limit:
            return await _refuse(send)
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


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": 413, "headers": headers})
    await send({"type": "http.response.body", "body": TOO_LARGE})


application = Bounded(get_asgi_application(), settings.MAX_UPLOAD_BYTES + FRAMING)
