"""Rows with more or fewer cells than their header: nothing of them is lost, and it is said.

A text that holds the delimiter without quotation marks is cut into too many cells. Where the last
column is free text they belong to it, joined by the delimiter as it stood in the file; elsewhere
they stay cells without a name. In a file of questions and answers the question takes what comes up
to its question mark, the answer all the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .pairs import columns_of_pairs, named_rows
from .tables import is_figure, read_like_names

Rows = list[list[str]]


@dataclass(frozen=True)
class Fitted:
    """Rows, those of a table of one width where that could be told, and what was odd about them."""

    rows: Rows
    warnings: tuple[str, ...]


def fit_rows(rows: Sequence[Sequence[str]], delimiter: str) -> Fitted:
    """The rows of a delimited file. Rows are numbered from 1, the header and empty ones counted."""
    fitted = [_without_empty_end(row) for row in rows]
    joined: list[int] = []
    unnamed: list[int] = []
    short: list[int] = []
    for start, end in _tables(fitted):
        width = len(fitted[start])
        numbers = range(start + 1, end)
        short += [n + 1 for n in numbers if len(rows[n]) < width]
        longer = [n for n in numbers if len(fitted[n]) > width]
        pair = columns_of_pairs(fitted[start])
        if pair:
            for n in longer:
                fitted[n] = _fit_pair(fitted[n], width, pair, delimiter)
        elif _is_free_text([fitted[n] for n in numbers], width):
            for n in longer:
                fitted[n] = _merged(fitted[n], width - 1, len(fitted[n]) - width, delimiter)
        else:
            unnamed += [n + 1 for n in longer]
            continue
        joined += [n + 1 for n in longer]
    return Fitted(fitted, tuple(_warnings(joined, unnamed, short, delimiter)))


def _without_empty_end(row: Sequence[str]) -> list[str]:
    cells = list(row)
    while cells and not cells[-1].strip():
        cells.pop()
    return cells


def _tables(rows: Rows) -> Iterator[tuple[int, int]]:
    """`(header, end)` of each table with a header, parted by empty rows as `sheet_blocks` does."""
    if rows and columns_of_pairs(rows[0]):
        yield 0, len(rows)
        return
    start = 0
    for end in range(len(rows) + 1):
        if end == len(rows) or not rows[end]:
            wide = [n for n in range(start, end) if sum(map(bool, map(str.strip, rows[n]))) > 1]
            if len(wide) > 1 and _is_header([rows[n] for n in wide]):
                yield wide[0], wide[-1] + 1
            start = end + 1


def _is_header(rows: Rows) -> bool:
    """Names in the first row, unless most of the others agree on a greater width."""
    width, count = Counter(map(len, rows[1:])).most_common(1)[0]
    agreed = width > len(rows[0]) and count > 2 and 2 * count > len(rows) - 1
    return not agreed and read_like_names([cell.strip() for cell in rows[0]])


def _is_free_text(rows: Rows, width: int) -> bool:
    """Whether most cells from the last named column on are several words, and not figures."""
    cells = [cell.strip() for row in rows for cell in row[width - 1 :] if cell.strip()]
    texts = sum(" " in cell and not is_figure(cell) for cell in cells)
    return 2 * texts >= len(cells)


def _fit_pair(row: list[str], width: int, pair: tuple[int, int], delimiter: str) -> list[str]:
    question, answer = pair
    surplus = len(row) - width
    if question < answer:
        ends = (n for n in range(surplus + 1) if row[question + n].rstrip().endswith("?"))
        shift = next(ends, 0)
        row = _merged(row, question, shift, delimiter)
        surplus -= shift
    return _merged(row, answer, surplus, delimiter)


def _merged(row: list[str], at: int, surplus: int, delimiter: str) -> list[str]:
    """The cell at a place takes the cells that follow it."""
    end = at + surplus + 1
    return [*row[:at], delimiter.join(row[at:end]), *row[end:]]


def _warnings(
    joined: list[int], unnamed: list[int], short: list[int], delimiter: str
) -> Iterator[str]:
    sign = "tab" if delimiter == "\t" else f'"{delimiter}"'
    if joined:
        yield (
            f"{named_rows(joined)} more cells than the header; they were joined by {sign} as they "
            "stood. Put texts that hold it in quotation marks."
        )
    if unnamed:
        yield f"{named_rows(unnamed)} more cells than the header; they were kept without a name."
    if short:
        yield f"{named_rows(short)} fewer cells than the header."
