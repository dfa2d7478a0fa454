"""A website for tests: pages in a dictionary, served over real HTTP from a thread.

A page is bytes or text, or a function that is given the request and answers it in any way it
likes: slowly, endlessly, wrongly. Every request is remembered.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[["Request"], None]


def html(title: str, *paragraphs: str, links: tuple[str, ...] = (), head: str = "") -> str:
    """A small page whose text is its own."""
    body = "".join(f"<p>{text}</p>" for text in paragraphs)
    anchors = "".join(f'<p><a href="{link}">{link}</a> sayfasına gidin.</p>' for link in links)
    return (
        f"<!doctype html><html><head><title>{title}</title>{head}</head>"
        f"<body><h1>{title}</h1>{body}{anchors}</body></html>"
    )


class Request(BaseHTTPRequestHandler):
    """One request, with short ways to answer it."""

    protocol_version = "HTTP/1.1"
    server: Any

    def do_GET(self) -> None:
        site: Site = self.server.site
        site.requests.append((self.path, dict(self.headers)))
        page = site.pages.get(self.path, site.pages.get("*"))
        if page is None:
            self.answer(404, html("Yok", "Böyle bir sayfa yok."))
        elif callable(page):
            page(self)
        else:
            self.answer(200, page)

    def answer(
        self, status: int, body: str | bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        data = body.encode() if isinstance(body, str) else body
        headers = {"Content-Type": "text/html; charset=utf-8"} | dict(headers or {})
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def raw(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()
        self.close_connection = True

    def log_message(self, *args: Any) -> None:
        pass


@dataclass
class Site:
    """Its pages by path and query, what was asked of it, and where it is."""

    pages: dict[str, str | bytes | Answer] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    port: int = 0

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/") -> str:
        return f"http://{self.address}{path}"

    def asked(self, path: str) -> int:
        return sum(found == path for found, _ in self.requests)

    def paths(self) -> list[str]:
        return [path for path, _ in self.requests]


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *args: Any) -> None:
        """A client that hangs up on a bad page does right."""


@contextmanager
def serving() -> Iterator[Site]:
    server = Server(("127.0.0.1", 0), Request)
    site = Site(port=server.server_port)
    server.site = site  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


def redirect(to: str, status: int = 302) -> Answer:
    return lambda request: request.answer(status, b"", {"Location": to})


def status(code: int, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: request.answer(code, html("Hata", "Bir hata oldu."), named)


def with_headers(body: str | bytes, **headers: str) -> Answer:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request: request.answer(200, body, named)


def with_etag(body: str | bytes, tag: str) -> Answer:
    """Answers 304 to who knows the tag already."""

    def answer(request: Request) -> None:
        if request.headers.get("If-None-Match") == tag:
            request.answer(304, b"", {"ETag": tag})
        else:
            request.answer(200, body, {"ETag": tag})

    return answer
