"""EPUB: the chapters in the order of the spine, each read as HTML.

The book's own table of contents is left out. Books locked by a shop's DRM are refused. A chapter
that cannot be read is left out and reported; a book is refused when no other has text.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterator
from urllib.parse import unquote

from lxml import etree

from .archive import Package
from .blocks import Block, Reading
from .charset import decode
from .clean import fold
from .errors import BrokenFile, ParsingError, PasswordProtected
from .html import page_blocks
from .limits import Deadline, Limits
from .xml_tree import parse_xml

_CONTAINER = "{urn:oasis:names:tc:opendocument:xmlns:container}"
_OPF = "{http://www.idpf.org/2007/opf}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_PAGES = ("application/xhtml+xml", "text/html")
# Fonts may be obscured by these in any book; whatever else is encrypted cannot be read.
_FONT_METHODS = (b"http://www.idpf.org/2008/embedding", b"http://ns.adobe.com/pdf/enc#RC")


def read_epub(data: bytes, limits: Limits) -> Reading:
    """The blocks of a book."""
    package = Package(data, limits)
    _refuse_locked(package)
    container = parse_xml(package.read_xml("META-INF/container.xml"))
    rootfile = next(container.iter(_CONTAINER + "rootfile"), None)
    if rootfile is None:
        raise BrokenFile("It names no book.")
    path = rootfile.get("full-path", "")
    book = parse_xml(package.read_xml(path))
    blocks: list[Block] = []
    removed = 0
    failed: dict[str, ParsingError] = {}
    deadline = Deadline(limits.seconds)
    for chapter in dict.fromkeys(_chapters(book, posixpath.dirname(path))):  # each once
        deadline.check()
        try:
            found, dropped = page_blocks(decode(package.read(chapter))[0])
        except ParsingError as error:
            failed[chapter] = error
        else:
            blocks.extend(found)
            removed += dropped
    if failed and not blocks:
        raise next(iter(failed.values()))
    title = fold(next(book.itertext(_TITLE), ""))
    warnings = tuple(_left_out(chapter, error) for chapter, error in failed.items())
    return Reading(tuple(blocks), title, boilerplate_removed=removed, warnings=warnings)


def _left_out(chapter: str, error: ParsingError) -> str:
    why = error.detail or error.message.partition(". ")[0].rstrip(".") + "."
    return f'The chapter "{fold(chapter)}" was left out. {why}'


def _refuse_locked(package: Package) -> None:
    if "META-INF/encryption.xml" in package.names:
        methods = package.read_xml("META-INF/encryption.xml").count(b"EncryptionMethod")
        listed = package.read_xml("META-INF/encryption.xml")
        if sum(map(listed.count, _FONT_METHODS)) < methods:
            raise PasswordProtected("The book is locked by its shop (DRM).")


def _chapters(book: etree._Element, folder: str) -> Iterator[str]:
    """Names of the members to read, in reading order."""
    manifest = {entry.get("id"): entry for entry in book.iter(_OPF + "item")}
    for reference in book.iter(_OPF + "itemref"):
        entry = manifest.get(reference.get("idref"))
        if entry is None or entry.get("media-type") not in _PAGES:
            continue
        if "nav" not in entry.get("properties", "").split() and reference.get("linear") != "no":
            yield posixpath.normpath(posixpath.join(folder, unquote(entry.get("href", ""))))
