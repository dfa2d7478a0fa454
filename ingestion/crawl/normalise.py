"""One spelling for every address, and which addresses are a website's own.

The fragment goes, the query is sorted, and what only follows a visitor (campaigns, sessions) is
cut off, so that one page has one row. What still multiplies without end (calendars, filters,
paths that repeat themselves) is bounded: so many query strings for one path, so many segments.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, quote, urlencode, urljoin, urlsplit, urlunsplit

from w3lib.url import canonicalize_url

from dolphy.marks import is_text
from ingestion.crawl.addresses import PORTS
from ingestion.crawl.errors import BadPattern, UrlRefused

LONGEST_URL = 1000
MOST_VARIANTS = 20  # addresses that differ in their query only
MOST_SEGMENTS = 20
MOST_REPEATS = 3  # of one segment in a path

_VISITOR = re.compile(
    r"utm_\w+|gclid|gbraid|wbraid|fbclid|msclkid|yclid|dclid|igshid|mc_[ce]id|_ga|_gl|_hs\w+|"
    r"mkt_tok|phpsessid|jsessionid|aspsessionid\w*|cfid|cftoken|sid|sessid|session_?id|zenid|osCsid",
    re.I,
)
_PATH_SESSION = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/?;]*", re.I)
_NEVER_TEXT = re.compile(
    r"\.(?:png|jpe?g|gif|webp|avif|svg|ico|bmp|tiff?|psd|css|m?js|map|woff2?|ttf|otf|eot|"
    r"mp[34]|m4[av]|avi|mov|mkv|webm|wav|og[gv]|flac|zip|gz|tgz|bz2|xz|tar|rar|7z|exe|msi|dmg|"
    r"pkg|deb|rpm|apk|ipa|iso|jar|bin|wasm)$",
    re.I,
)
_SITEMAP = re.compile(r"sitemap[^/]*\.xml(?:\.gz)?$", re.I)


@lru_cache(maxsize=50_000)
def normalised(url: str, base: str = "") -> str | None:
    """The address as it is kept, or None for what is no address of a page."""
    try:
        joined = urljoin(base, url.strip()) if base else url.strip()
        scheme = urlsplit(joined).scheme
        if scheme not in PORTS:
            return None
        parts = urlsplit(canonicalize_url(joined, keep_blank_values=True))
        host, port = parts.hostname, parts.port
    except (ValueError, UnicodeError):
        return None
    if not host or "@" in parts.netloc:
        return None
    host = f"[{host}]" if ":" in host else host.rstrip(".")
    netloc = host if port in {None, PORTS[scheme]} else f"{host}:{port}"
    path = _PATH_SESSION.sub("", parts.path) or "/"
    made = urlunsplit((scheme, netloc, path, _kept_query(parts.query), ""))
    return made if len(made) <= LONGEST_URL and made.isascii() else None


def required(url: str) -> str:
    """As `normalised`. Raises `UrlRefused`."""
    if not is_text(url) or not (made := normalised(url)):
        raise UrlRefused
    return made


def _kept_query(query: str) -> str:
    if not query:
        return ""
    pairs = parse_qsl(query, keep_blank_values=True, errors="surrogateescape")
    if not any(_VISITOR.fullmatch(name) for name, _ in pairs):
        return query
    kept = [(name, value) for name, value in pairs if not _VISITOR.fullmatch(name)]
    return urlencode(kept, errors="surrogateescape")


def looks_like_sitemap(url: str) -> bool:
    return bool(_SITEMAP.search(urlsplit(url).path))


def is_trap(url: str) -> bool:
    """A path that goes on for ever or repeats itself: links relative to the wrong place."""
    segments = [part for part in urlsplit(url).path.split("/") if part]
    repeated = max(map(segments.count, segments), default=0)
    return len(segments) > MOST_SEGMENTS or repeated > MOST_REPEATS


def path_of(url: str) -> str:
    """The address without its query."""
    return url.split("?", 1)[0]


@dataclass(frozen=True)
class Extent:
    """Which addresses belong to a website: its host (with or without www), its patterns."""

    host: str
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()

    @classmethod
    def of(cls, url: str, include: list[str], exclude: list[str]) -> Extent:
        return cls(_host_of(url), tuple(include), tuple(exclude))

    def refusal(self, url: str) -> str:
        """Why an address is left out; empty for one that belongs."""
        if _host_of(url) != self.host:
            return "other_host"
        if _NEVER_TEXT.search(urlsplit(url).path):
            return "not_a_document"
        if is_trap(url):
            return "trap"
        if not self.wants(url):
            return "excluded"
        return ""

    def is_own_host(self, url: str) -> bool:
        return _host_of(url) == self.host

    def wants(self, url: str) -> bool:
        """Whether the patterns let the address be a document."""
        if any(matches(pattern, url) for pattern in self.exclude):
            return False
        return not self.include or any(matches(pattern, url) for pattern in self.include)


def matches(pattern: str, url: str) -> bool:
    """`*` stands for anything. A pattern with `://` is held against the whole address, another one
    against path and query."""
    pieces = _pieces(pattern)
    if "://" in pattern:
        return _fits(pieces, url)
    parts = urlsplit(url)
    return _fits(pieces, parts.path) or (
        bool(parts.query) and _fits(pieces, f"{parts.path}?{parts.query}")
    )


def _fits(pieces: tuple[str, ...], text: str) -> bool:
    """Whether the pieces lie in the text one after another, the outer ones at its ends. Taking the
    first place for each is enough, so no pattern is slow."""
    first, *middle = pieces
    if not middle:
        return text == first
    last = middle.pop()
    if not text.startswith(first) or not text[len(first) :].endswith(last):
        return False
    place, end = len(first), len(text) - len(last)
    for piece in middle:
        place = text.find(piece, place, end)
        if place < 0:
            return False
        place += len(piece)
    return True


def check_patterns(patterns: list[str]) -> list[str]:
    """The patterns as they are kept. Raises `BadPattern`."""
    for pattern in patterns:
        is_rooted = pattern.startswith(("/", "*", "http://", "https://"))
        is_plain = is_text(pattern) and not any(ch <= " " for ch in pattern)
        if not (is_rooted and is_plain) or len(pattern) > 500:
            raise BadPattern(f"This one is not: {pattern[:80]!r}.")
    return patterns


@lru_cache(maxsize=1000)
def _pieces(pattern: str) -> tuple[str, ...]:
    """What stands between the `*`, spelled as addresses are."""
    if "://" in pattern:
        pattern = canonicalize_url(pattern, keep_blank_values=True)
    spelled = (ch if ch.isascii() else quote(ch) for ch in pattern)
    return tuple(re.split(r"\*+", "".join(spelled)))


@lru_cache(maxsize=50_000)
def _host_of(url: str) -> str:
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    return host if parts.port is None else f"{host}:{parts.port}"
