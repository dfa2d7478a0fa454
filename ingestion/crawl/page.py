"""What a page says of itself: its links, its own address, and whether it wants to be found.

The text is read by `ingestion.parsing`, like a file's. What the server says in its headers counts
as what the page says in its head.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from lxml import etree
from lxml import html as lxml_html
from lxml.html import HtmlElement

from ingestion.crawl.fetch import USER_AGENT
from ingestion.crawl.normalise import normalised
from ingestion.parsing.charset import decode

MOST_LINKS = 2000
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_REFRESH = re.compile(r"""^\s*[\d.]+\s*[;,]\s*url\s*=\s*["']?([^"']+)""", re.I)
_NEITHER = {"noindex", "nofollow"}


@dataclass(frozen=True)
class Head:
    """`links` are normalised and in the order of the page; `canonical` only when it is another
    address; `refresh` is where the page sends its reader at once."""

    links: tuple[str, ...]
    canonical: str | None
    refresh: str | None
    noindex: bool
    nofollow: bool


def read_head(data: bytes, url: str, headers: Mapping[str, str]) -> Head:
    """Never fails: a page without structure has no links."""
    page = _tree(data)
    if page is None:
        page = lxml_html.document_fromstring("<p></p>")
    base = next((tag.get("href") for tag in page.iter("base") if tag.get("href")), "")
    base = normalised(base, url) or url
    wishes = set(_meta_wishes(page))
    for line in headers.get("x-robots-tag", "").splitlines():
        wishes |= _header_wishes(line)
    nofollow = bool(wishes & {"nofollow", "none"})
    canonical = _canonical(page, base, headers)
    return Head(
        links=() if nofollow else _first_links(page, base),
        canonical=canonical if canonical != url else None,
        refresh=_refresh(page, base),
        noindex=bool(wishes & {"noindex", "none"}),
        nofollow=nofollow,
    )


def as_utf8(data: bytes, headers: Mapping[str, str]) -> tuple[bytes, str]:
    """The bytes with the charset that the server names taken into account, and which that was:
    empty where the bytes themselves are to be asked."""
    named = _CHARSET.search(headers.get("content-type", ""))
    if not named or data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data, ""
    text, charset = decode(data, named[1])
    return (data if charset == "utf-8" else codecs.BOM_UTF8 + text.encode()), charset


def _tree(data: bytes) -> HtmlElement | None:
    parser = lxml_html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    try:
        return lxml_html.document_fromstring(data.removeprefix(codecs.BOM_UTF8), parser=parser)
    except (etree.LxmlError, ValueError, AssertionError):
        return None


def _first_links(page: HtmlElement, base: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for url in _links(page, base):
        found[url] = None
        if len(found) == MOST_LINKS:
            break
    return tuple(found)


def _links(page: HtmlElement, base: str) -> Iterator[str]:
    for tag in page.iter("a", "area", "iframe", "frame"):
        target = tag.get("href") or tag.get("src")
        found = normalised(target, base) if target and "nofollow" not in _rel(tag) else None
        if found:
            yield found
    for tag in page.iter("link"):
        if _is_neighbour(tag) and (found := normalised(tag.get("href") or "", base)):
            yield found


def _is_neighbour(tag: HtmlElement) -> bool:
    """A further page of the same text, by its `link`; other languages are not followed."""
    is_page = tag.get("type", "text/html") == "text/html" and "hreflang" not in tag.attrib
    return is_page and bool({"next", "prev", "alternate"} & set(_rel(tag)))


def _rel(tag: HtmlElement) -> list[str]:
    return (tag.get("rel") or "").lower().split()


def _canonical(page: HtmlElement, base: str, headers: Mapping[str, str]) -> str | None:
    for tag in page.iter("link"):
        if "canonical" in _rel(tag) and tag.get("href"):
            return normalised(tag.get("href"), base)
    for part in re.split(r"[,\n]", headers.get("link", "")):
        if re.search(r'rel\s*=\s*"?canonical', part, re.I) and (
            found := re.search("<([^<>]+)>", part)
        ):
            return normalised(found[1], base)
    return None


def _refresh(page: HtmlElement, base: str) -> str | None:
    for tag in page.iter("meta"):
        is_refresh = (tag.get("http-equiv") or "").lower() == "refresh"
        if is_refresh and (found := _REFRESH.match(tag.get("content") or "")):
            return normalised(found[1], base)
    return None


def _meta_wishes(page: HtmlElement) -> Iterator[str]:
    for tag in page.iter("meta"):
        if (tag.get("name") or "").lower() in {"robots", USER_AGENT.lower()}:
            yield from re.split(r"[\s,]+", (tag.get("content") or "").lower())


def _header_wishes(value: str) -> set[str]:
    """`noindex, nofollow`; `otherbot: noindex` and what follows concerns only that bot."""
    found: set[str] = set()
    for_us = True
    for part in value.lower().split(","):
        name, colon, wish = part.partition(":")
        if colon and name.strip() not in {"unavailable_after", "max-snippet", "max-image-preview"}:
            for_us = name.strip() == USER_AGENT.lower()
            part = wish
        if for_us:
            found.add(part.strip())
    return found
