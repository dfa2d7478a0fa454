"""ODT: headings, paragraphs, lists and tables in document order, footnotes after their block.

The format is one XML file, read with lxml. Tracked deletions, comments and page headers (which
live in another file) are not part of the text.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree

from .archive import Package
from .blocks import Block, BlockKind, Reading
from .clean import fold, keep_lines
from .errors import BrokenFile, PasswordProtected
from .limits import Limits
from .tables import table_block
from .xml_tree import parse_xml

_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_MAX_REPEAT = 100
_SKIPPED = {
    _TEXT + "note", _TEXT + "tracked-changes", _OFFICE + "annotation", _TEXT + "sequence-decls",
    _TEXT + "table-of-content", _TEXT + "illustration-index", _DRAW + "frame", _TEXT + "ruby-text",
    _OFFICE + "forms", _DRAW + "custom-shape", _TEXT + "bookmark-ref", _TABLE + "table",
}  # fmt: skip
_SPACES = {_TEXT + "s": " ", _TEXT + "tab": "\t", _TEXT + "line-break": "\n"}


def read_odt(data: bytes, limits: Limits) -> Reading:
    """The blocks of an ODT file."""
    package = Package(data, limits)
    if b"encryption-data" in package.read("META-INF/manifest.xml"):
        raise PasswordProtected()
    root = parse_xml(package.read_xml("content.xml"))
    body = root.find(f"{_OFFICE}body/{_OFFICE}text")
    if body is None:
        raise BrokenFile("It has no text body.")
    walk = _Walk(_style_parents(package, root))
    try:
        blocks = tuple(walk.children(body, listed=False))
    except (ValueError, RecursionError) as error:
        raise BrokenFile() from error
    return Reading(blocks, _title(package, blocks), boilerplate_removed=walk.indexes)


def _title(package: Package, blocks: tuple[Block, ...]) -> str:
    top = [b for b in blocks[:2] if b.kind is BlockKind.HEADING and b.level == 1]
    if top:
        return top[0].text
    if "meta.xml" not in package.names:
        return ""
    return fold(next(parse_xml(package.read_xml("meta.xml")).itertext(_TITLE), ""))


def _style_parents(package: Package, content: etree._Element) -> dict[str, str]:
    """Each paragraph style's parent, so that automatic styles lead to named ones."""
    roots = [content]
    if "styles.xml" in package.names:
        roots.append(parse_xml(package.read_xml("styles.xml")))
    styles = (style for root in roots for style in root.iter(_STYLE + "style"))
    return {s.get(_STYLE + "name", ""): s.get(_STYLE + "parent-style-name", "") for s in styles}


class _Walk:
    """One pass over the body; counts the tables of contents it leaves out."""

    def __init__(self, parents: dict[str, str]) -> None:
        self._parents = parents
        self.indexes = 0

    def children(self, element: etree._Element, *, listed: bool) -> Iterator[Block]:
        for child in element:
            if isinstance(child.tag, str):
                yield from self._block(child, listed)

    def _block(self, element: etree._Element, listed: bool) -> Iterator[Block]:
        tag = element.tag
        if tag == _TEXT + "h":
            level = int(element.get(_TEXT + "outline-level", "1"))
            yield from self._text(element, BlockKind.HEADING, max(1, min(6, level)))
        elif tag == _TEXT + "p":
            yield from self._paragraph(element, listed)
        elif tag == _TEXT + "list":
            for item in element:
                yield from self.children(item, listed=True)
        elif tag == _TABLE + "table":
            yield from self._table(element)
        elif tag in (_TEXT + "table-of-content", _TEXT + "alphabetical-index"):
            self.indexes += 1
        elif tag not in _SKIPPED or tag == _DRAW + "frame":
            yield from self.children(element, listed=listed)

    def _paragraph(self, element: etree._Element, listed: bool) -> Iterator[Block]:
        names = list(self._names(element.get(_TEXT + "style-name", "")))
        if "Title" in names or "Subtitle" in names:
            yield from self._text(element, BlockKind.HEADING, 1 if "Title" in names else 2)
        elif "Preformatted_20_Text" in names:
            yield from self._text(element, BlockKind.CODE, 0)
        else:
            kind = BlockKind.LIST_ITEM if listed else BlockKind.PARAGRAPH
            yield from self._text(element, kind, 0)

    def _names(self, name: str) -> Iterator[str]:
        for _ in range(10):
            if not name:
                return
            yield name
            name = self._parents.get(name, "")

    def _text(self, element: etree._Element, kind: BlockKind, level: int) -> Iterator[Block]:
        raw = _text_of(element)
        if text := (keep_lines(raw) if kind is BlockKind.CODE else fold(raw)):
            yield Block(kind, text, level)
        for box in element.iter(_DRAW + "text-box", _DRAW + "custom-shape"):
            yield from self.children(box, listed=False)
        yield from _notes(element)

    def _table(self, table: etree._Element) -> Iterator[Block]:
        head = [row for group in table.iter(_TABLE + "table-header-rows") for row in group]
        rows = list(_rows(table))
        grid = [_row(row) for row in rows]
        if len(grid) == 1 and len(grid[0]) == 1:
            for cell in rows[0]:
                yield from self.children(cell, listed=False)
            return
        if block := table_block(_covered(grid), header_rows=len(head) or None):
            yield block
        for row in rows:
            for inner in (t for cell in row for t in cell.iter(_TABLE + "table")):
                yield from self._table(inner)
        for row in rows:
            yield from _notes(row)


def _notes(element: etree._Element) -> Iterator[Block]:
    for note in element.iter(_TEXT + "note-body"):
        texts = (fold(_text_of(p)) for p in note.iter(_TEXT + "p"))
        if text := " ".join(filter(None, texts)):
            yield Block(BlockKind.PARAGRAPH, text)


def _text_of(element: etree._Element) -> str:
    parts: list[str] = []
    _collect(element, parts)
    return "".join(parts)


def _collect(element: etree._Element, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        if child.tag in _SPACES:
            parts.append(_SPACES[child.tag])
        elif isinstance(child.tag, str) and child.tag not in _SKIPPED:
            _collect(child, parts)
            if child.tag in (_TEXT + "p", _TEXT + "h"):
                parts.append(" ")
        parts.append(child.tail or "")


def _rows(table: etree._Element) -> Iterator[etree._Element]:
    for child in table:
        if child.tag == _TABLE + "table-row":
            yield child
        elif child.tag in (
            _TABLE + "table-header-rows",
            _TABLE + "table-rows",
            _TABLE + "table-row-group",
        ):
            yield from _rows(child)


def _row(row: etree._Element) -> list[str | None]:
    """Cell texts; None for a cell that another one covers."""
    line: list[str | None] = []
    for cell in row:
        if cell.tag in (_TABLE + "table-cell", _TABLE + "covered-table-cell"):
            text = None if cell.tag.endswith("covered-table-cell") else fold(_text_of(cell))
            repeat = min(int(cell.get(_TABLE + "number-columns-repeated", "1")), _MAX_REPEAT)
            line.extend([text] * repeat)
    return line


def _covered(grid: list[list[str | None]]) -> list[list[str]]:
    """Covered cells take the text of the one to the left, else of the one above."""
    filled: list[list[str]] = []
    for row in grid:
        line: list[str] = []
        for i, cell in enumerate(row):
            above = filled[-1][i] if filled and i < len(filled[-1]) else ""
            left = line[-1] if line and row[i - 1] is not None else ""
            line.append(cell if cell is not None else left or above)
        filled.append(line)
    return filled
