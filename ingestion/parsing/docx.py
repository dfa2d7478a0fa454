"""DOCX: paragraphs, lists and tables in document order, with footnotes and text boxes.

python-docx opens the file and resolves styles; the body is walked as XML because its paragraph
list skips what sits in tables, content controls, text boxes and tracked insertions. Deleted text
(tracked) is left out. A footnote follows the block that refers to it. Page headers and footers are
left out and counted.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from itertools import takewhile

from docx import Document
from docx.document import Document as DocumentType
from docx.opc.exceptions import OpcError
from lxml import etree

from .archive import PACKAGE_FAILURES, Package
from .blocks import Block, BlockKind, Reading
from .clean import fold, keep_lines
from .errors import BrokenFile
from .limits import Limits
from .tables import table_block
from .xml_tree import parse_xml

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_HEADING_NAME = re.compile(r"^(?:heading|başlık|überschrift|titre)\s*(\d)$", re.I)
_TITLE_NAMES = {"title": 1, "konu başlığı": 1, "subtitle": 2, "altyazı": 2}
_LIST_NAME = re.compile(r"^list\b|^liste\b", re.I)
_CODE_NAME = re.compile(r"code|preformatted|kod\b|html", re.I)
_CONTAINERS = {_W + tag for tag in ("sdt", "sdtContent", "ins", "moveTo", "smartTag", "customXml")}
_SKIPPED = {_W + tag for tag in ("del", "moveFrom", "pPr", "rPr", "instrText", "delText")}
_BREAKS = {_W + "br", _W + "cr", _W + "tab"}
_BODY_LEVEL = 9
_MAX_SPAN = 100  # columns that one cell may take or skip; Word itself allows 63


def read_docx(data: bytes, limits: Limits) -> Reading:
    """The blocks of a DOCX. Raises BrokenFile when it cannot be opened."""
    package = Package(data, limits)
    package.check_xml()
    try:
        document = Document(io.BytesIO(data))
        walk = _Walk(document, _footnotes(package))
        blocks = tuple(walk.blocks())
        title = fold(document.core_properties.title or "")
        furniture = _furniture(document)
    except (OpcError, *PACKAGE_FAILURES) as error:
        raise BrokenFile() from error
    return Reading(blocks, _title(title, blocks), boilerplate_removed=furniture)


def _title(title: str, blocks: tuple[Block, ...]) -> str:
    """A heading on top, else the property, which is often a leftover of an older document."""
    top = [b for b in blocks[:2] if b.kind is BlockKind.HEADING and b.level == 1]
    return top[0].text if top else title


def _furniture(document: DocumentType) -> int:
    """How many page headers and footers hold text."""
    parts = [part for section in document.sections for part in (section.header, section.footer)]
    return sum(
        not part.is_linked_to_previous and any(fold(p.text) for p in part.paragraphs)
        for part in parts
    )


def _footnotes(package: Package) -> dict[str, str]:
    """Text of footnotes and endnotes by kind and id ("footnote:2")."""
    notes: dict[str, str] = {}
    for kind in ("footnote", "endnote"):
        part = f"word/{kind}s.xml"
        if part in package.names:
            for note in parse_xml(package.read_xml(part)).iter(_W + kind):
                paragraphs = (fold(_text(p)) for p in note.iter(_W + "p"))
                notes[f"{kind}:{note.get(_W + 'id')}"] = " ".join(filter(None, paragraphs))
    return notes


class _Walk:
    """One pass over the body; knows styles, numbering and notes of its document."""

    def __init__(self, document: DocumentType, notes: dict[str, str]) -> None:
        self._body = document.element.body
        self._styles = {s.style_id: s for s in document.styles if s.style_id}
        self._notes = notes
        self._kinds: dict[str, tuple[BlockKind, int]] = {}

    def blocks(self) -> Iterator[Block]:
        yield from self._children(self._body)

    def _children(self, element: etree._Element) -> Iterator[Block]:
        for child in element:
            if child.tag == _W + "p":
                yield from self._paragraph(child)
            elif child.tag == _W + "tbl":
                yield from self._table(child)
            elif child.tag in _CONTAINERS:
                yield from self._children(child)

    def _paragraph(self, paragraph: etree._Element) -> Iterator[Block]:
        kind, level = self._kind(paragraph)
        raw = _text(paragraph)
        if text := (keep_lines(raw) if kind is BlockKind.CODE else fold(raw)):
            yield Block(kind, text, level)
        yield from self._boxed(paragraph)
        yield from self._notes_of(paragraph)

    def _boxed(self, paragraph: etree._Element) -> Iterator[Block]:
        for box in _boxes(paragraph):
            yield from self._children(box)

    def _notes_of(self, element: etree._Element) -> Iterator[Block]:
        for kind in ("footnote", "endnote"):
            for reference in element.iter(f"{_W}{kind}Reference"):
                if text := self._notes.get(f"{kind}:{reference.get(_W + 'id')}"):
                    yield Block(BlockKind.PARAGRAPH, text)

    def _kind(self, paragraph: etree._Element) -> tuple[BlockKind, int]:
        """What a paragraph is, by its own outline level or numbering, else by its style."""
        outline = paragraph.find(f"{_W}pPr/{_W}outlineLvl")
        if outline is not None and int(outline.get(_W + "val", _BODY_LEVEL)) < _BODY_LEVEL:
            return BlockKind.HEADING, min(6, int(outline.get(_W + "val")) + 1)
        style = paragraph.find(f"{_W}pPr/{_W}pStyle")
        by_style = self._style_kind(style.get(_W + "val") if style is not None else "")
        if by_style[0] is BlockKind.PARAGRAPH and _is_numbered(paragraph):
            return BlockKind.LIST_ITEM, 0
        return by_style

    def _style_kind(self, style_id: str) -> tuple[BlockKind, int]:
        if style_id not in self._kinds:
            self._kinds[style_id] = self._resolve(style_id)
        return self._kinds[style_id]

    def _resolve(self, style_id: str) -> tuple[BlockKind, int]:
        """Follow the chain of base styles; a style made by hand often builds on Heading 1."""
        style, steps = self._styles.get(style_id), 0
        while style is not None and steps < 10:
            name = (style.name or "").strip().lower()
            if match := _HEADING_NAME.match(name):
                return BlockKind.HEADING, max(1, min(6, int(match.group(1))))
            if name in _TITLE_NAMES:
                return BlockKind.HEADING, _TITLE_NAMES[name]
            outline = style.element.find(f"{_W}pPr/{_W}outlineLvl")
            if outline is not None and int(outline.get(_W + "val", _BODY_LEVEL)) < _BODY_LEVEL:
                return BlockKind.HEADING, min(6, int(outline.get(_W + "val")) + 1)
            if _LIST_NAME.match(name) or _is_numbered(style.element):
                return BlockKind.LIST_ITEM, 0
            if _CODE_NAME.search(name):
                return BlockKind.CODE, 0
            style, steps = getattr(style, "base_style", None), steps + 1
        return BlockKind.PARAGRAPH, 0

    def _table(self, table: etree._Element) -> Iterator[Block]:
        rows = [row for row in _within(table, "tr") if row.find(f"{_W}trPr/{_W}del") is None]
        grid = _filled([_row(row) for row in rows])
        nested = [inner for row in rows for cell in _within(row, "tc") for inner in _tables(cell)]
        if len(rows) == 1 and len(grid[0]) == 1:
            # A frame around text, not a table.
            for cell in _within(rows[0], "tc"):
                yield from self._children(cell)
            return
        if block := table_block(grid, header_rows=_header_rows(rows)):
            yield block
        for inner in nested:
            yield from self._table(inner)
        for row in rows:
            for cell in _within(row, "tc"):
                for paragraph in _within(cell, "p"):
                    yield from self._boxed(paragraph)
        yield from (note for row in rows for note in self._notes_of(row))


def _is_numbered(element: etree._Element) -> bool:
    number = element.find(f"{_W}pPr/{_W}numPr/{_W}numId")
    return number is not None and number.get(_W + "val") != "0"


def _text(element: etree._Element) -> str:
    """Text of a paragraph or cell; not that of deletions, of nested tables or of text boxes."""
    parts: list[str] = []
    _collect(element, parts)
    return "".join(parts)


def _collect(element: etree._Element, parts: list[str]) -> None:
    for child in element:
        tag = child.tag
        if tag == _W + "t":
            parts.append(child.text or "")
        elif tag in _BREAKS:
            parts.append("\n" if tag != _W + "tab" else "\t")
        elif tag == _W + "noBreakHyphen":
            parts.append("-")
        elif tag == _W + "p":
            _collect(child, parts)
            parts.append(" ")
        elif tag not in _SKIPPED and tag not in (_W + "tbl", _W + "txbxContent", _FALLBACK):
            _collect(child, parts)


def _boxes(paragraph: etree._Element) -> Iterator[etree._Element]:
    """Text boxes anchored in a paragraph, each once (Word stores an old copy beside the new).

    One inside another is anchored in a paragraph of that.
    """
    for box in paragraph.iter(_W + "txbxContent"):
        around = takewhile(lambda element: element is not paragraph, box.iterancestors())
        if not any(a.tag in (_FALLBACK, _W + "txbxContent") for a in around):
            yield box


def _within(element: etree._Element, tag: str) -> Iterator[etree._Element]:
    """Children with a tag, also those wrapped in content controls."""
    for child in element:
        if child.tag == _W + tag:
            yield child
        elif child.tag in _CONTAINERS:
            yield from _within(child, tag)


def _tables(cell: etree._Element) -> Iterator[etree._Element]:
    return _within(cell, "tbl")


def _row(row: etree._Element) -> list[str | None]:
    """Cell texts by column; a cell merged with the one above is None."""
    skipped = row.find(f"{_W}trPr/{_W}gridBefore")
    before = int(skipped.get(_W + "val")) if skipped is not None else 0
    line: list[str | None] = [""] * min(before, _MAX_SPAN)
    for cell in _within(row, "tc"):
        span = cell.find(f"{_W}tcPr/{_W}gridSpan")
        merged = cell.find(f"{_W}tcPr/{_W}vMerge")
        continues = merged is not None and merged.get(_W + "val", "continue") == "continue"
        width = min(int(span.get(_W + "val")), _MAX_SPAN) if span is not None else 1
        line.extend([None if continues else fold(_text(cell))] * width)
    return line


def _filled(grid: list[list[str | None]]) -> list[list[str]]:
    """Merged cells take the text of the cell above."""
    filled: list[list[str]] = []
    for row in grid:
        above = filled[-1] if filled else []
        filled.append(
            [(above[i] if i < len(above) else "") if c is None else c for i, c in enumerate(row)]
        )
    return filled


def _header_rows(rows: list[etree._Element]) -> int | None:
    """Leading rows that repeat on every page, or a first row all in bold; else not told."""
    count = 0
    while count < len(rows) and rows[count].find(f"{_W}trPr/{_W}tblHeader") is not None:
        count += 1
    if 0 < count < len(rows):
        return count
    return 1 if len(rows) > 1 and _is_bold(rows[0]) and not _is_bold(rows[1]) else None


def _is_bold(row: etree._Element) -> bool:
    runs = [run for run in row.iter(_W + "r") if fold(_text(run))]
    return bool(runs) and all(_run_is_bold(run) for run in runs)


def _run_is_bold(run: etree._Element) -> bool:
    bold = run.find(f"{_W}rPr/{_W}b")
    return bold is not None and bold.get(_W + "val", "1") not in ("0", "false")
