"""Sitemaps: XML, an index of others, or one address a line; packed or not.

Nothing outside the file is read: no entities, no document types, so that a file made to explode
does not.
"""

from __future__ import annotations

from dataclasses import dataclass

from lxml import etree

from ingestion.crawl.body import GZIP_MAGIC, unpack
from ingestion.crawl.errors import BrokenResponse

MOST_BYTES = 50 * 1024 * 1024
MOST_URLS = 50_000


@dataclass(frozen=True)
class Sitemap:
    """The addresses it lists; those of an index lead to further sitemaps."""

    urls: tuple[str, ...]
    is_index: bool


def unpacked(data: bytes) -> bytes:
    """The bytes of a `.xml.gz` that came as a file. Raises `PageTooLarge`, `BrokenResponse`."""
    return unpack(iter([data]), MOST_BYTES) if data.startswith(GZIP_MAGIC) else data


def is_sitemap(data: bytes) -> bool:
    """Whether the root element is one of the two that the protocol knows."""
    head = data[:4096]
    return b"<urlset" in head or b"<sitemapindex" in head


def read_sitemap(data: bytes) -> Sitemap:
    """Raises `BrokenResponse` for XML that cannot be read."""
    if not data.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return Sitemap(tuple(_lines(data)), is_index=False)
    parser = etree.XMLParser(
        resolve_entities=False, load_dtd=False, no_network=True, huge_tree=False, recover=True
    )
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BrokenResponse("The sitemap is no valid XML.") from error
    if root is None:
        raise BrokenResponse("The sitemap is no valid XML.")
    found = []
    for entry in root:
        if isinstance(entry.tag, str) and _name(entry) in {"url", "sitemap"}:
            found += [child.text.strip() for child in entry if _is_place(child)]
    return Sitemap(tuple(dict.fromkeys(found[:MOST_URLS])), _name(root) == "sitemapindex")


def _is_place(element: etree._Element) -> bool:
    return isinstance(element.tag, str) and _name(element) == "loc" and bool(element.text)


def _name(element: etree._Element) -> str:
    return etree.QName(element).localname.lower()


def _lines(data: bytes) -> list[str]:
    lines = (line.strip() for line in data.decode("utf-8-sig", "replace").splitlines())
    return [line for line in lines if line.startswith(("http://", "https://"))][:MOST_URLS]
