"""Grids of cells become table blocks of one width, with a header row where there is one.

Formats that mark their header row say so (`header_rows`); for the others the first row is taken as
a header only when it reads like one, since a wrong header is repeated with every row of a passage.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from .blocks import Block, BlockKind
from .clean import fold

_FIGURE = re.compile(r"^[\W_]*\d[\d\s.,:/%()+-]*\s*(TL|₺|€|\$|USD|EUR|kg|cm|%)?[\W_]*$", re.I)
_LONGEST_COLUMN_NAME = 60
_LONGEST_FIGURE = 100  # the expression takes the square of a length


def table_block(
    grid: Sequence[Sequence[str]],
    *,
    page: int | None = None,
    caption: str = "",
    header_rows: int | None = None,
) -> Block | None:
    """A TABLE block of `grid`, or None when it holds no text.

    `header_rows` counts the rows that name the columns, None when the format does not tell;
    several header rows are joined column by column ("2026 / Ocak").
    """
    rows = _even([[fold(cell) for cell in row] for row in grid])
    names = rows[: header_rows or 0]
    kept = [row for row in rows[len(names) :] if any(row)]
    if header_rows is None and looks_like_header(kept):
        names, kept = kept[:1], kept[1:]
    if not kept:
        names, kept = [], [row for row in names if any(row)]
    if not kept:
        return None
    return _without_empty_columns(_joined(names), kept, page, fold(caption))


def sheet_blocks(rows: Sequence[Sequence[str]], page: int | None = None) -> list[Block]:
    """The blocks of a sheet: its tables, parted by empty rows, and the notes around them.

    A row with one filled cell above a table is its caption, one below is a paragraph.
    """
    blocks: list[Block] = []
    group: list[list[str]] = []
    for row in (*rows, ()):
        cells = [fold(cell) for cell in row]
        if any(cells):
            group.append(cells)
        elif group:
            blocks.extend(_group_blocks(group, page))
            group = []
    return blocks


def _group_blocks(group: list[list[str]], page: int | None) -> Iterator[Block]:
    wide = [i for i, row in enumerate(group) if sum(map(bool, row)) > 1]
    first, end = (wide[0], wide[-1] + 1) if wide else (len(group), len(group))
    above = [" ".join(filter(None, row)) for row in group[:first]]
    caption = above.pop() if above and wide else ""
    yield from (Block(BlockKind.PARAGRAPH, text, page=page) for text in above)
    block = table_block(group[first:end], page=page, caption=caption)
    if block:
        yield block
    for row in group[end:]:
        yield Block(BlockKind.PARAGRAPH, " ".join(filter(None, row)), page=page)


def looks_like_header(rows: Sequence[Sequence[str]]) -> bool:
    """Whether the first of several rows names columns, all but one of those that most rows have."""
    if len(rows) < 2 or len(rows[0]) < 2:
        return False
    widths = Counter(max(_width(row), 2) for row in rows[1:])
    usual = max(widths, key=lambda width: (widths[width], -width))
    filled = sum(map(bool, rows[0]))
    return filled >= usual - 1 and read_like_names(rows[0][: _width(rows[0])])


def read_like_names(cells: Sequence[str]) -> bool:
    """Whether cells may name columns: two at least, short, all different, none a figure."""
    filled = [cell for cell in cells if cell]
    return (
        len(filled) >= max(2, len(cells) - 1)
        and len(set(filled)) == len(filled)
        and all(len(cell) <= _LONGEST_COLUMN_NAME for cell in filled)
        and not any(is_figure(cell) or cell.endswith((":", ".")) for cell in filled)
    )


def is_figure(cell: str) -> bool:
    """Whether a cell is a number, an amount, a date or the like."""
    return len(cell) <= _LONGEST_FIGURE and bool(_FIGURE.match(cell))


def _width(row: Sequence[str]) -> int:
    """Cells up to the last that is filled."""
    return max((n for n, cell in enumerate(row, start=1) if cell), default=0)


def _even(rows: list[list[str]]) -> list[list[str]]:
    width = max((len(row) for row in rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def _joined(names: list[list[str]]) -> list[str]:
    """Column names out of one or more header rows, a repeated part once."""
    return [" / ".join(dict.fromkeys(filter(None, column))) for column in zip(*names, strict=True)]


def _without_empty_columns(
    header: list[str], rows: list[list[str]], page: int | None, caption: str
) -> Block:
    used = [i for i in range(len(rows[0])) if any(row[i] for row in rows) or (header and header[i])]
    return Block(
        BlockKind.TABLE,
        "",
        page=page,
        header=tuple(header[i] for i in used) if any(header) else (),
        rows=tuple(tuple(row[i] for i in used) for row in rows),
        caption=caption,
    )
