"""One fetch against servers that behave, and servers that do not."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import pytest

from ingestion.crawl.addresses import Allowed
from ingestion.crawl.errors import (
    AddressRefused,
    BrokenResponse,
    ConnectionFailed,
    FetchError,
    HostNotFound,
    PageTooLarge,
    TlsFailed,
    TooManyRedirects,
    TooSlow,
)
from ingestion.crawl.fetch import Fetched, Fetcher, FetchLimits
from tests.ingestion.crawl.site import Request, Site, redirect, with_headers

SHORT = FetchLimits(connect_seconds=1, total_seconds=0.6)


def fetcher(site: Site, limits: FetchLimits = SHORT) -> Fetcher:
    return Fetcher(allowed=Allowed(frozenset({site.address})), limits=limits)


def fetch(site: Site, path: str, *, limits: FetchLimits = SHORT, most: int = 1000) -> Fetched:
    return fetcher(site, limits).fetch(site.url(path), lambda headers: most, redirects=5)


def test_an_answer_has_its_status_headers_and_body(site: Site) -> None:
    site.pages["/a?b=c"] = with_headers("İade", ETag='"1"')
    answer = fetch(site, "/a?b=c")
    assert (answer.status, answer.body.decode()) == (200, "İade")
    assert answer.headers["etag"] == '"1"'
    path, headers = site.requests[0]
    assert path == "/a?b=c"
    assert headers["Host"] == site.address
    assert "DolphyBot" in headers["User-Agent"]


def test_a_connection_is_kept_and_a_dead_one_replaced(site: Site) -> None:
    seen: list[int] = []

    def page(request: Request) -> None:
        seen.append(request.client_address[1])
        request.close_connection = len(seen) == 2  # without a word about it
        request.answer(200, "x")

    site.pages["/"] = page
    one = fetcher(site)
    for _ in range(4):
        assert one.fetch(site.url(), lambda headers: 10).body == b"x"
    assert seen[0] == seen[1] != seen[2] == seen[3]


@pytest.mark.parametrize("packing", ["gzip", "deflate", "bare deflate"])
def test_packed_bodies_are_unpacked(site: Site, packing: str) -> None:
    engine = zlib.compressobj(wbits={"gzip": 31, "deflate": 15, "bare deflate": -15}[packing])
    body = engine.compress(b"merhaba " * 50) + engine.flush()
    site.pages["/"] = with_headers(body, Content_Encoding=packing.split()[-1])
    assert fetch(site, "/").body == b"merhaba " * 50


def test_a_packed_bomb_is_stopped_before_it_unpacks(site: Site) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    site.pages["/"] = with_headers(bomb, Content_Encoding="gzip")
    with pytest.raises(PageTooLarge):
        fetch(site, "/", most=100_000)


@pytest.mark.parametrize("packing, body", [("gzip", b"plain"), ("br", b"x"), ("gzip, gzip", b"x")])
def test_bodies_that_cannot_be_unpacked_are_broken(site: Site, packing: str, body: bytes) -> None:
    site.pages["/"] = with_headers(body, Content_Encoding=packing)
    with pytest.raises(BrokenResponse):
        fetch(site, "/")


def test_a_packed_body_that_breaks_off_is_broken(site: Site) -> None:
    site.pages["/"] = with_headers(gzip.compress(b"merhaba" * 99)[:-12], Content_Encoding="gzip")
    with pytest.raises(BrokenResponse):
        fetch(site, "/")


def dripping(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 900\r\n\r\n")
    drip(request, b"x")


def dripping_headers(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\n")
    drip(request, b"X")


def drip(request: Request, byte: bytes) -> None:
    for _ in range(100):
        time.sleep(0.05)
        request.raw(byte)


def silent(request: Request) -> None:
    time.sleep(1.5)


def endless(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        request.raw(b"x" * 65536)


def endless_chunks(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    while True:
        request.raw(b"10\r\n0123456789abcdef\r\n" * 1000)


def endless_headers(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\n")
    for number in range(100_000):
        request.raw(b"X-%d: %s\r\n" % (number, b"y" * 5000))


def endless_continue(request: Request) -> None:
    while True:
        request.raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 100)


def five_gigabytes(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5368709120\r\n\r\n")
    while True:
        request.raw(b"x" * 65536)


def shorter_than_said(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nshort")


def cut_chunk(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nshort")


def wrong_chunk(request: Request) -> None:
    request.raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nshort\r\n")


def no_http(request: Request) -> None:
    request.raw(b"SSH-2.0-OpenSSH_9.6\r\n")


def says_nothing(request: Request) -> None:
    request.close_connection = True


@pytest.mark.parametrize(
    "page, error",
    [
        (dripping, TooSlow),
        (dripping_headers, TooSlow),
        (silent, TooSlow),
        (endless, PageTooLarge),
        (endless_chunks, PageTooLarge),
        (endless_headers, BrokenResponse),
        (endless_continue, BrokenResponse),
        (five_gigabytes, PageTooLarge),
        (shorter_than_said, BrokenResponse),
        (cut_chunk, BrokenResponse),
        (wrong_chunk, BrokenResponse),
        (no_http, BrokenResponse),
        (says_nothing, BrokenResponse),
    ],
)
def test_a_bad_server_is_an_error_in_time(
    site: Site, page: Callable[[Request], None], error: type[FetchError]
) -> None:
    site.pages["/"] = page
    with pytest.raises(error):
        fetch(site, "/")


def test_more_than_was_said_is_not_read(site: Site) -> None:
    def longer(request: Request) -> None:
        request.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK\r\n\r\nevil")

    site.pages["/"] = longer
    assert fetch(site, "/").body == b"hello"


def test_redirects_are_followed_up_to_five(site: Site) -> None:
    for number in range(6):
        site.pages[f"/{number}"] = redirect(f"/{number + 1}", [301, 302, 303, 307, 308][number % 5])
    site.pages["/6"] = "end"
    assert fetch(site, "/1").body == b"end"
    with pytest.raises(TooManyRedirects):
        fetch(site, "/0")


def test_a_redirect_in_a_circle_ends(site: Site) -> None:
    site.pages |= {"/a": redirect("/b"), "/b": redirect("/a")}
    with pytest.raises(TooManyRedirects):
        fetch(site, "/a")


@pytest.mark.parametrize(
    "to",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://10.0.0.1/",
        "https://localhost/",
    ],
)
def test_a_redirect_inwards_is_refused(site: Site, to: str) -> None:
    site.pages["/"] = redirect(to)
    with pytest.raises(AddressRefused):
        fetch(site, "/")


def test_a_name_that_changes_its_mind_gains_nothing(site: Site) -> None:
    """The address that was checked is the one that is connected to."""
    answers = iter([["8.8.8.8"], ["127.0.0.1"]])
    connected: list[tuple[str, int]] = []

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", connect)
        rebinding = Fetcher(allowed=Allowed(frozenset()), resolver=lambda host, port: next(answers))
        with pytest.raises(ConnectionFailed):
            rebinding.fetch("http://rebind.example/", lambda headers: 10)
        assert connected == [("8.8.8.8", 80)]
        with pytest.raises(AddressRefused):
            rebinding.fetch("http://rebind.example/", lambda headers: 10)
        assert connected == [("8.8.8.8", 80)]


def test_proxies_of_the_environment_are_not_used(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    site.pages["/"] = "direct"
    assert fetch(site, "/").body == b"direct"


def test_a_server_that_is_away_and_a_name_of_nobody(site: Site) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        one = Fetcher(allowed=Allowed(frozenset({address, "nobody.invalid"})))
        with pytest.raises(ConnectionFailed):
            one.fetch(f"http://{address}/", lambda headers: 10)
    with pytest.raises(HostNotFound):
        one.fetch("http://nobody.invalid/", lambda headers: 10)


@contextmanager
def answering_once(answer: Callable[[socket.socket], None]) -> Iterator[str]:
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        with suppress(OSError):
            client, _ = server.accept()
            with client:
                answer(client)

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"127.0.0.1:{server.getsockname()[1]}"
    finally:
        server.close()


def refuses_tls(client: socket.socket) -> None:
    client.recv(2000)
    client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")


def never_shakes_hands(client: socket.socket) -> None:
    time.sleep(1.2)


@pytest.mark.parametrize("answer, error", [(refuses_tls, TlsFailed), (never_shakes_hands, TooSlow)])
def test_a_server_without_valid_tls(
    answer: Callable[[socket.socket], None], error: type[FetchError]
) -> None:
    with answering_once(answer) as address:
        one = Fetcher(allowed=Allowed(frozenset({address})), limits=SHORT)
        with pytest.raises(error):
            one.fetch(f"https://{address}/", lambda headers: 10)


def test_tls_is_held_to_the_name_and_not_to_the_address() -> None:
    """The name goes into the handshake though the connection goes to the address."""
    seen: list[str | None] = []

    class Recording(ssl.SSLContext):
        def wrap_socket(self, sock: socket.socket, **options: object) -> ssl.SSLSocket:  # type: ignore[override]
            seen.append(str(options["server_hostname"]))
            raise ssl.SSLCertVerificationError("for the test")

    with answering_once(lambda client: None) as address:
        port = address.split(":")[1]
        one = Fetcher(
            allowed=Allowed(frozenset({f"shop.example:{port}"})),
            resolver=lambda host, port: ["127.0.0.1"],
            tls=Recording(ssl.PROTOCOL_TLS_CLIENT),
        )
        with pytest.raises(TlsFailed):
            one.fetch(f"https://shop.example:{port}/", lambda headers: 10)
    assert seen == ["shop.example"]
