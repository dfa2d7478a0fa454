"""Tables of a web page: spans filled out, header rows found, nested tables after their outer."""

from __future__ import annotations

from collections.abc import Iterator

from lxml.html import HtmlElement

from .blocks import Block
from .clean import fold, words
from .tables import table_block

_MAX_SPAN = 100
_BIG = ("h1", "h2", "h3", "article", "form")
_BREAKS = words("p div li br h4 h5 h6 tr dt dd")


def is_layout(table: HtmlElement) -> bool:
    """Whether a table arranges the page: it says so, has one column or row of boxes, or holds
    headings or long nested tables."""
    if table.get("role") in ("presentation", "none"):
        return True
    if table.find(".//th") is not None or table.find("caption") is not None:
        return False
    rows = list(_rows(table))
    widest = max((len(_cells(row)) for row in rows), default=0)
    if widest <= 1:
        return True
    return len(rows) == 1 or any(table.find(f".//{tag}") is not None for tag in _BIG)


def data_table(table: HtmlElement) -> Iterator[Block]:
    """The table's block, then those of the tables inside its cells."""
    rows = list(_rows(table))
    block = table_block(
        _grid(rows),
        caption=fold(table.findtext("caption") or ""),
        header_rows=_header_rows(rows),
    )
    if block:
        yield block
    for nested in _nested(table):
        yield from data_table(nested)


def _rows(table: HtmlElement) -> Iterator[HtmlElement]:
    for child in table:
        if child.tag == "tr":
            yield child
        elif child.tag in ("thead", "tbody", "tfoot"):
            yield from (row for row in child if row.tag == "tr")


def _cells(row: HtmlElement) -> list[HtmlElement]:
    return [cell for cell in row if cell.tag in ("td", "th")]


def _header_rows(rows: list[HtmlElement]) -> int | None:
    """Rows of a `thead`, or leading rows of `th` only; None when the page does not tell."""
    count = 0
    for row in rows:
        cells = _cells(row)
        heads = [cell for cell in cells if cell.tag == "th"]
        in_head = row.getparent().tag == "thead"
        # A corner cell above row titles is often an empty td.
        if not cells or not (in_head or (heads and len(heads) >= len(cells) - 1 > 0)):
            break
        count += 1
    if count:
        return min(count, 3)
    has_row_titles = any(cell.tag == "th" for row in rows for cell in row)
    return 0 if has_row_titles else None


def _grid(rows: list[HtmlElement]) -> list[list[str]]:
    """Cells with their spans filled out, so that every row has a value in every column."""
    grid: list[list[str]] = []
    pending: dict[int, tuple[int, str]] = {}
    for row in rows:
        line: list[str] = []
        cells = iter(_cells(row))
        cell = next(cells, None)
        while cell is not None or len(line) in pending:
            if len(line) in pending:
                left, text = pending.pop(len(line))
                if left > 1:
                    pending[len(line)] = (left - 1, text)
                line.append(text)
                continue
            assert cell is not None  # noqa: S101 - the loop's condition says so
            text = _text(cell)
            down = _span(cell, "rowspan")
            for _ in range(_span(cell, "colspan")):
                if down > 1:
                    pending[len(line)] = (down - 1, text)
                line.append(text)
            cell = next(cells, None)
        grid.append(line)
    return grid


def _span(cell: HtmlElement, name: str) -> int:
    value = cell.get(name, "1").strip()
    return max(1, min(int(value), _MAX_SPAN)) if value.isdecimal() and len(value) < 6 else 1


def _text(cell: HtmlElement) -> str:
    """A cell's text without that of tables inside it."""
    parts: list[str] = []
    _collect(cell, parts)
    return fold("".join(parts))


def _collect(element: HtmlElement, parts: list[str]) -> None:
    parts.append(element.text or "")
    for child in element:
        if child.tag in _BREAKS:
            parts.append(" ")
        if isinstance(child.tag, str) and child.tag != "table":
            _collect(child, parts)
        if child.tag in _BREAKS:
            parts.append(" ")
        parts.append(child.tail or "")


def _nested(table: HtmlElement) -> list[HtmlElement]:
    """Tables one level below: those whose nearest table around is this one."""
    return [
        t for t in table.iter("table") if t is not table and next(t.iterancestors("table")) is table
    ]
