"""CSV and its relatives: any delimiter, any charset, with or without Excel's `sep=` line.

The delimiter is the one that cuts the first lines into the most even rows. A file whose first row
names questions and answers becomes pairs.
"""

from __future__ import annotations

import csv
from collections import Counter
from itertools import islice

from .blocks import Reading
from .charset import decode
from .errors import BrokenFile, TooComplex
from .limits import Limits
from .pairs import pair_blocks, pairs_of_rows
from .tables import sheet_blocks

_DELIMITERS = ";,\t|"
_SAMPLE_ROWS = 100
_SAMPLE_CHARACTERS = 100_000


def read_delimited(data: bytes, limits: Limits) -> Reading:
    """The rows of a CSV file as table blocks, or its pairs."""
    text, charset = decode(data)
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    if max(map(len, text.split("\n"))) > limits.max_line:
        raise TooComplex(f"One of its lines is longer than {limits.max_line:,} characters.")
    delimiter, body = _delimiter(text.lstrip("\ufeff").replace("\0", ""))
    rows = _rows(body, delimiter, limits)
    if pairs := pairs_of_rows(rows):
        return Reading(pair_blocks(pairs), charset=charset, pairs=tuple(pairs))
    return Reading(tuple(sheet_blocks(rows)), charset=charset)


def _delimiter(text: str) -> tuple[str, str]:
    """`(delimiter, text without a sep= line)`."""
    first, _, rest = text.partition("\n")
    if first.lower().startswith("sep=") and len(first.strip("\r")) == 5:
        return first[4], rest
    return max(_DELIMITERS, key=lambda delimiter: _evenness(text, delimiter)), text


def _evenness(text: str, delimiter: str) -> float:
    """Rows of the commonest width, times what that width adds; 0 when nothing is cut."""
    lines = text[:_SAMPLE_CHARACTERS].splitlines()
    try:
        widths = Counter(
            len(row) for row in islice(csv.reader(lines, delimiter=delimiter), _SAMPLE_ROWS) if row
        )
    except csv.Error:
        return 0.0
    if not widths:
        return 0.0
    width, rows = max(widths.items(), key=lambda found: (found[1], found[0]))
    return 0.0 if width == 1 else rows / sum(widths.values()) + min(width, 20) / 100


def _rows(text: str, delimiter: str, limits: Limits) -> list[list[str]]:
    csv.field_size_limit(limits.max_line)
    rows, cells = [], 0
    try:
        for row in csv.reader(text.splitlines(keepends=True), delimiter=delimiter):
            cells += len(row)
            if len(row) > limits.max_columns:
                raise TooComplex(f"It has more than {limits.max_columns:,} columns.")
            if cells > limits.max_cells:
                raise TooComplex(f"It has more than {limits.max_cells:,} cells.")
            rows.append(row)
    except csv.Error as error:
        raise BrokenFile("A quotation mark in it may be left open.") from error
    return rows
