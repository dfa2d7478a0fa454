"""Fetch: one address over HTTP, bounded in time, bytes, headers and redirects.

The standard library speaks HTTP over a socket of ours: it goes to the address that was checked
while TLS and the Host header keep the name, and every read waits no longer than the whole response
may take, so a server that drips a byte a second ends on time. Proxies from the environment are not
used. A connection is kept for the next page of the same server; one that turns out to be dead is
replaced once.
"""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from ingestion.crawl.addresses import PORTS, Allowed, Resolver, bracketed, checked, resolve
from ingestion.crawl.body import read_body
from ingestion.crawl.errors import (
    BrokenResponse,
    ConnectionFailed,
    FetchError,
    TlsFailed,
    TooManyRedirects,
    TooSlow,
    UrlRefused,
)

USER_AGENT = "DolphyBot"
REDIRECTS = {301, 302, 303, 307, 308}
HEADERS = {
    "User-Agent": f"Mozilla/5.0 (compatible; {USER_AGENT}/1.0)",
    "Accept": "text/html,application/xhtml+xml,*/*;q=0.8",
    "Accept-Encoding": "gzip, deflate",
}
REPEATED = {"x-robots-tag", "link"}  # each of them counts
BytesAllowed = Callable[[Mapping[str, str]], int]


@dataclass(frozen=True)
class FetchLimits:
    """Seconds and bytes that one response may cost."""

    connect_seconds: float = 10.0
    total_seconds: float = 60.0
    header_bytes: int = 64 * 1024
    redirects: int = 5


@dataclass(frozen=True)
class Fetched:
    """An answer from `url`. Header names are in lower case; those of `REPEATED` that came more than
    once hold a line for each. `body` is unpacked."""

    url: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def location(self) -> str | None:
        """Where a redirect leads, as an absolute address; None when it names none."""
        target = self.headers.get("location")
        if not target or self.status not in REDIRECTS:
            return None
        try:
            target = target.encode("latin-1").decode()  # headers hold bytes
        except ValueError:
            target = quote(target, safe="/:?&=#%;,@+$!*'()[]~")
        try:
            return urljoin(self.url, target)
        except ValueError:  # such as http://[
            return None


class Fetcher:
    """Fetches for one crawl; safe to use from several threads, each with connections of its own."""

    def __init__(
        self,
        *,
        allowed: Allowed | None = None,
        resolver: Resolver = resolve,
        limits: FetchLimits = FetchLimits(),
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self._allowed = allowed or Allowed.from_environment()
        self._resolver = resolver
        self._limits = limits
        self._tls = tls or _default_tls()
        self._threads = threading.local()

    def fetch(
        self,
        url: str,
        bytes_allowed: BytesAllowed,
        *,
        headers: Mapping[str, str] | None = None,
        redirects: int = 0,
        cut: bool = False,
    ) -> Fetched:
        """The answer at `url`, whatever its status; up to `redirects` hops are followed, each
        checked like the first. `bytes_allowed` reads the headers and may raise. Of a longer body
        `cut` gives what is allowed, instead of raising. Raises `FetchError`."""
        deadline = Deadline(self._limits.total_seconds)
        for _ in range(min(redirects, self._limits.redirects) + 1):
            answer = self._one(url, bytes_allowed, dict(headers or {}), deadline, cut)
            if not redirects or answer.location is None:
                return answer
            url = answer.location
        raise TooManyRedirects

    def _one(
        self,
        url: str,
        bytes_allowed: BytesAllowed,
        headers: dict[str, str],
        deadline: Deadline,
        cut: bool,
    ) -> Fetched:
        parts, port = split(url)
        host = parts.hostname or ""
        addresses = checked(host, port, resolver=self._resolver, allowed=self._allowed)
        key = (parts.scheme, host, port)
        line = self._kept().pop(key, None)
        if line is not None and line.address in addresses:
            try:
                return self._ask(line, key, url, parts, bytes_allowed, headers, deadline, cut)
            except (BrokenResponse, ConnectionFailed):  # closed meanwhile: ask on a new one
                line.hang_up()
        line = self._connect(parts.scheme, host, port, addresses, deadline)
        return self._ask(line, key, url, parts, bytes_allowed, headers, deadline, cut)

    def _kept(self) -> dict[tuple[str, str, int], Line]:
        if not hasattr(self._threads, "lines"):
            self._threads.lines = {}
        lines: dict[tuple[str, str, int], Line] = self._threads.lines
        return lines

    def _ask(
        self,
        line: Line,
        key: tuple[str, str, int],
        url: str,
        parts: SplitResult,
        bytes_allowed: BytesAllowed,
        headers: dict[str, str],
        deadline: Deadline,
        cut: bool,
    ) -> Fetched:
        keep = False
        try:
            line.begin(deadline, self._limits.header_bytes)
            response = line.get(_target(parts), HEADERS | {"Host": _host(parts)} | headers)
            found = _by_name(response.getheaders())
            line.headers_read()
            if response.status in REDIRECTS:
                body = b""  # left unread, with the connection
            else:
                body = read_body(response, bytes_allowed(found), deadline.check, cut=cut)
            keep = response.isclosed() and not response.will_close
            return Fetched(url, response.status, found, body)
        except TimeoutError as error:
            raise TooSlow from error
        except ssl.SSLError as error:
            raise BrokenResponse from error
        except http.client.HTTPException as error:
            raise BrokenResponse from error
        except ValueError as error:  # a status, a length or a chunk size that is no number
            raise BrokenResponse from error
        except OSError as error:
            raise ConnectionFailed from error
        finally:
            if keep:
                self._kept()[key] = line
            else:
                line.hang_up()

    def _connect(
        self, scheme: str, host: str, port: int, addresses: list[str], deadline: Deadline
    ) -> Line:
        error: FetchError = ConnectionFailed()
        for address in addresses[:4]:
            timeout = min(self._limits.connect_seconds, deadline.left())
            try:
                sock = socket.create_connection((address, port), timeout=timeout)
            except TimeoutError:
                error = TooSlow()
                continue
            except OSError:
                error = ConnectionFailed()
                continue
            return Line(address, self._secured(sock, host) if scheme == "https" else sock)
        raise error

    def _secured(self, sock: socket.socket, host: str) -> socket.socket:
        try:
            return self._tls.wrap_socket(sock, server_hostname=host)
        except TimeoutError as error:
            sock.close()
            raise TooSlow from error
        except (ssl.SSLError, ssl.CertificateError, ValueError) as error:
            sock.close()
            raise TlsFailed from error
        except OSError as error:
            sock.close()
            raise ConnectionFailed from error


class Deadline:
    """The moment at which a response must have ended."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds that remain. Raises `TooSlow` when there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TooSlow
        return left

    check = left


class Line:
    """One open connection. `http.client` sees it as its socket."""

    def __init__(self, address: str, sock: socket.socket) -> None:
        self.address = address
        self._sock = sock
        self._deadline = Deadline(0)
        self._header_bytes: int | None = None
        self._client = http.client.HTTPConnection("line")
        self._client.sock = self

    def begin(self, deadline: Deadline, header_bytes: int) -> None:
        self._deadline, self._header_bytes = deadline, header_bytes

    def headers_read(self) -> None:
        self._header_bytes = None

    def get(self, target: str, headers: Mapping[str, str]) -> http.client.HTTPResponse:
        self._client.putrequest("GET", target, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            self._client.putheader(name, value)
        self._client.endheaders()
        return self._client.getresponse()

    def sendall(self, data: bytes) -> None:
        self._sock.settimeout(self._deadline.left())
        self._sock.sendall(data)

    def makefile(self, *args: Any) -> io.BufferedReader:
        return io.BufferedReader(_Received(self), 16 * 1024)

    def receive(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.left())
        count = self._sock.recv_into(buffer)
        if self._header_bytes is not None:
            self._header_bytes -= count
            if self._header_bytes < 0:
                raise BrokenResponse("Its headers have no end.")
        return count

    def close(self) -> None:
        """Asked by `http.client` as soon as it knows the connection's end, before it has read the
        body; `hang_up` closes."""

    def hang_up(self) -> None:
        self._sock.close()


class _Received(io.RawIOBase):
    def __init__(self, line: Line) -> None:
        self._line = line

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        return self._line.receive(buffer)


def split(url: str) -> tuple[SplitResult, int]:
    """The parts of an address and its port. Raises `UrlRefused`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UrlRefused from error
    if parts.scheme not in PORTS or not parts.hostname:
        raise UrlRefused
    if "@" in parts.netloc or any(ch <= " " or ch == "\x7f" for ch in url):
        raise UrlRefused
    return parts, port or PORTS[parts.scheme]


def _by_name(headers: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in headers:
        name = name.lower()
        if name in REPEATED:
            value = " ".join(value.split())  # a folded one is one line
            value = f"{found[name]}\n{value}" if name in found else value
        found[name] = value
    return found


def _target(parts: SplitResult) -> str:
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _host(parts: SplitResult) -> str:
    host = bracketed(parts.hostname or "")
    is_usual = parts.port in {None, PORTS[parts.scheme]}
    return host if is_usual else f"{host}:{parts.port}"


@lru_cache(maxsize=1)
def _default_tls() -> ssl.SSLContext:
    return ssl.create_default_context()
