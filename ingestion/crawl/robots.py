"""robots.txt: asked once a sync for each server, and obeyed.

A server without one allows everything. One whose robots.txt fails (5xx, no answer) is not crawled
at all: what it would have forbidden is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

from protego import Protego

from ingestion.crawl.errors import (
    AddressRefused,
    ConnectionFailed,
    FetchError,
    HostNotFound,
    TlsFailed,
    UrlRefused,
)
from ingestion.crawl.fetch import USER_AGENT, Fetcher

MOST_BYTES = 512 * 1024  # as much as the standard asks to be read
LONGEST_DELAY = 60.0
REFUSALS = {AddressRefused.code, UrlRefused.code}
UNREACHABLE = "robots_unreachable"
# What is wrong with the whole server, and not with its robots.txt.
OF_THE_SERVER = REFUSALS | {HostNotFound.code, ConnectionFailed.code, TlsFailed.code}


@dataclass(frozen=True)
class Robots:
    """What one server says. `error` is the code of why that is not known, with its `message`."""

    text: str = ""
    error: str = ""
    message: str = ""

    def allows(self, url: str) -> bool:
        return not self.error and bool(_parsed(self.text).can_fetch(url, USER_AGENT))

    @property
    def is_refused(self) -> bool:
        """Whether the server may not be asked at all; asking again changes nothing."""
        return self.error in REFUSALS

    @property
    def code(self) -> str:
        """Why none of the server's pages is asked for, while `error` is set."""
        return self.error if self.error in OF_THE_SERVER else UNREACHABLE

    @property
    def delay(self) -> float:
        """Seconds between requests that the server asks for, up to a minute."""
        return min(LONGEST_DELAY, float(_parsed(self.text).crawl_delay(USER_AGENT) or 0))

    @property
    def sitemaps(self) -> list[str]:
        return list(_parsed(self.text).sitemaps)


def ask(fetcher: Fetcher, origin: str) -> Robots:
    """The rules of the server at `origin` (scheme and host)."""
    try:
        answer = fetcher.fetch(
            f"{origin}/robots.txt", lambda headers: MOST_BYTES, redirects=5, cut=True
        )
    except FetchError as error:
        return Robots(error=error.code, message=error.message)
    if answer.status == 429 or answer.status >= 500:
        return Robots(error=f"http_{answer.status}")
    if answer.status != 200:
        return Robots()
    return Robots(_whole_lines(answer.body).decode("utf-8-sig", "replace").replace("\0", ""))


def _whole_lines(body: bytes) -> bytes:
    """Without the line that was cut off: half of `Disallow: /x` forbids everything."""
    if len(body) < MOST_BYTES:
        return body
    return body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]


def origin_of(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def as_rows(robots: Robots) -> Mapping[str, str]:
    return {"text": robots.text, "error": robots.error, "message": robots.message}


@lru_cache(maxsize=64)
def _parsed(text: str) -> Protego:
    return Protego.parse(text)
