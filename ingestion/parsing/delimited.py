"""CSV and its relatives: any delimiter, any charset, with or without Excel's `sep=` line.

`delimiter` finds what parts the cells, `ragged` mends rows that have too many of them. A file whose
first row names questions and answers becomes pairs.
"""

from __future__ import annotations

import csv
import io

from .blocks import Reading
from .charset import decode
from .delimiter import find_delimiter
from .errors import BrokenFile, TooComplex
from .limits import Limits
from .pairs import pairs_of_rows
from .ragged import fit_rows
from .tables import sheet_blocks


def read_delimited(data: bytes, limits: Limits) -> Reading:
    """The rows of a CSV file as table blocks, or its pairs."""
    text, charset = decode(data)
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    if max(map(len, text.split("\n"))) > limits.max_line:
        raise TooComplex(f"One of its lines is longer than {limits.max_line:,} characters.")
    delimiter, body = find_delimiter(text.lstrip("\ufeff").replace("\0", ""))
    fitted = fit_rows(_rows(body, delimiter, limits), delimiter)
    if found := pairs_of_rows(fitted.rows):
        warnings = fitted.warnings + found.warnings
        return Reading(found.blocks, charset=charset, warnings=warnings, pairs=found.pairs)
    return Reading(tuple(sheet_blocks(fitted.rows)), charset=charset, warnings=fitted.warnings)


def _rows(text: str, delimiter: str, limits: Limits) -> list[list[str]]:
    csv.field_size_limit(limits.max_line)
    rows, cells = [], 0
    try:
        for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter):
            cells += len(row)
            if len(row) > limits.max_columns:
                raise TooComplex(f"It has more than {limits.max_columns:,} columns.")
            if cells > limits.max_cells:
                raise TooComplex(f"It has more than {limits.max_cells:,} cells.")
            rows.append(row)
    except csv.Error as error:
        raise BrokenFile("A quotation mark in it may be left open.") from error
    return rows
