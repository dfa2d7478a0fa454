"""Sitemaps: XML, an index of others, or one address a line; packed or not.

Nothing outside the file is read: no entities, no document types, so that a file made to explode
does not. One that breaks off still gives what it lists, and says that it is broken: the pages that
it does not name may be gone, or may have stood behind the break.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from lxml import etree

from ingestion.crawl.body import GZIP_MAGIC, unpack

MOST_BYTES = 50 * 1024 * 1024
MOST_URLS = 50_000
ROOTS = {"urlset", "sitemapindex"}
FEEDS = {"rss", "feed", "rdf"}  # some robots.txt name one as a sitemap; it is not read
_ROOT = rb"(?:[\w.-]+:)?(?:urlset|sitemapindex|rss|feed|RDF)"
_END = re.compile(rb"</%b\s*>|<%b(?:\s[^<>]*)?/>" % (_ROOT, _ROOT))
_BARE_AMPERSAND = re.compile(rb"&(?!(?:#\d+|#x[\da-fA-F]+|\w+);)")
_HARMLESS = {"ERR_INVALID_CHAR", "ERR_INVALID_ENCODING", "ERR_UNDECLARED_ENTITY"}


@dataclass(frozen=True)
class Sitemap:
    """The addresses it lists; those of an index lead to further sitemaps. A broken one may have
    listed more."""

    urls: tuple[str, ...]
    is_index: bool = False
    is_broken: bool = False


def unpacked(data: bytes) -> bytes:
    """The bytes of a `.xml.gz` that came as a file. Raises `PageTooLarge`, `BrokenResponse`."""
    return unpack(iter([data]), MOST_BYTES) if data.startswith(GZIP_MAGIC) else data


def is_sitemap(data: bytes) -> bool:
    """Whether the root element is one of the two that the protocol knows."""
    head = data[:4096]
    return b"<urlset" in head or b"<sitemapindex" in head


def read_sitemap(data: bytes) -> Sitemap:
    """What it lists, as far as it can be read."""
    data = data.removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        urls = tuple(_lines(data))
        return Sitemap(urls, is_broken=not urls)
    if b"<![CDATA[" not in data:
        data = _BARE_AMPERSAND.sub(b"&amp;", data)
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError):
        root = None
    if root is None or _name(root) not in ROOTS | FEEDS:
        return Sitemap((), is_broken=True)
    found = []
    for entry in root:
        if isinstance(entry.tag, str) and _name(entry) in {"url", "sitemap"}:
            found += [child.text.strip() for child in entry if _is_place(child)]
    is_broken = _is_broken(data, parser)
    if is_broken:
        del found[-1:]  # it may be half an address
    urls = tuple(dict.fromkeys(found[:MOST_URLS]))
    return Sitemap(urls, _name(root) == "sitemapindex", is_broken)


def _is_broken(data: bytes, parser: etree.XMLParser) -> bool:
    """Whether it breaks off, which the parser does not tell after very many other errors, or is
    damaged in a way that can swallow entries."""
    end = data[-4096:].replace(b"\0", b"")  # in UTF-16 every other byte
    return not _END.search(end) or any(
        error.level_name == "FATAL" and error.type_name not in _HARMLESS
        for error in parser.error_log
    )


def _is_place(element: etree._Element) -> bool:
    return isinstance(element.tag, str) and _name(element) == "loc" and bool(element.text)


def _name(element: etree._Element) -> str:
    """Without its namespace; lxml's own way of asking fails for a prefix that is not declared."""
    return str(element.tag).rpartition("}")[2].lower()


def _lines(data: bytes) -> list[str]:
    lines = (line.strip() for line in data.decode("utf-8", "replace").splitlines())
    return [line for line in lines if line.startswith(("http://", "https://"))][:MOST_URLS]
