"""Which character parts the cells of a file: the header row says it, the other rows bear it out.

A header is written with care and has no figures, so a delimiter that cuts it into names weighs more
than any evenness of the rows below, which may be ragged. Commas and semicolons of prose (before a
blank) and decimal commas (between digits) part nothing on their own.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from itertools import islice

from .tables import read_like_names

_DELIMITERS = ";,\t|"
_QUOTED = re.compile(r'"[^"]*"')
# A mark that may part cells: not one of prose, nor within a figure.
_MARKS = {
    ";": re.compile(r";(?=\S)"),
    ",": re.compile(r",(?=\S)(?:(?<!\d,)|(?!\d)|(?=\d+,))"),
    "\t": re.compile("\t"),
    "|": re.compile(r"\|"),
}
_SAMPLE_ROWS = 100
_SAMPLE_CHARACTERS = 100_000
_NAMED, _PERHAPS_NAMED = 2.0, 0.5  # evenness is at most 1.2


def find_delimiter(text: str) -> tuple[str, str]:
    """`(delimiter, text without a sep= line)`."""
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip("\r")) == 5:
        return first[4], rest
    lines = [line for line in text[:_SAMPLE_CHARACTERS].splitlines() if line.strip()]
    return max(_DELIMITERS, key=lambda delimiter: _weight(lines, delimiter)), text


def _weight(lines: list[str], delimiter: str) -> float:
    """How much speaks for a delimiter; 0 when it cuts nothing."""
    try:
        rows = list(islice(csv.reader(lines, delimiter=delimiter), _SAMPLE_ROWS))
    except csv.Error:
        return 0.0
    named = _header_weight(lines, rows, delimiter)
    if not named and not any(_marks(line, delimiter) for line in lines[:_SAMPLE_ROWS]):
        return 0.0
    return named + _evenness(rows)


def _header_weight(lines: list[str], rows: list[list[str]], delimiter: str) -> float:
    if not rows or not read_like_names([cell.strip() for cell in rows[0]]):
        return 0.0
    if not _marks(lines[0], delimiter):
        return _PERHAPS_NAMED if f"{delimiter} " in lines[0] else 0.0
    return _NAMED if any(len(row) > 1 for row in rows[1:]) else _PERHAPS_NAMED


def _marks(line: str, delimiter: str) -> bool:
    return bool(_MARKS[delimiter].search(_QUOTED.sub('""', line)))


def _evenness(rows: list[list[str]]) -> float:
    """Rows of the commonest width, times what that width adds; 0 when nothing is cut."""
    widths = Counter(len(row) for row in rows if row)
    if not widths:
        return 0.0
    width, count = max(widths.items(), key=lambda found: (found[1], found[0]))
    return 0.0 if width == 1 else count / sum(widths.values()) + min(width, 20) / 100
