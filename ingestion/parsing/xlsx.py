"""XLSX: each sheet as tables, values as a person sees them.

openpyxl streams the cells, with the results that Excel stored for formulas. Numbers are written by
their format: percent, dates, durations, currency; Turkish style (35.000,50 TL) where the format is
Turkish. Hidden sheets are left out and reported.

What is counted is cells that hold something. A sheet is as wide and as long as the last cell that
somebody ever touched, often thousands of rows and columns from the others, and that is no text.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import date, datetime, time, timedelta

from openpyxl import load_workbook
from openpyxl.utils.exceptions import InvalidFileException

from .archive import PACKAGE_FAILURES, Package
from .blocks import Block, BlockKind, QuestionAnswer, Reading
from .clean import fold
from .errors import BrokenFile, TooComplex
from .limits import Deadline, Limits
from .pairs import pairs_of_rows
from .tables import sheet_blocks

_DEFAULT_NAME = re.compile(r"^(?:sheet|sayfa|tabelle|feuil|sheet_)\s*\d*$", re.I)
_TURKISH = re.compile(r"41F|TL|₺")
_LITERAL = re.compile(r'\[\$([^\]-]*)(?:-[^\]]*)?\]|"([^"]*)"|([€$₺£])|\\(.)')
_DECIMALS = re.compile(r"0[.,](0+)")
_TOTAL = re.compile(r"\[(h+|m+|s+)\]", re.I)  # in a duration's format: its largest unit
_LONGEST_FORMAT = 255  # of Excel
_MAX_ROWS = 1_048_576  # of Excel; a row's number may claim any
_SPARSE = 4  # a grid may have so many times the cells that may be filled


def read_xlsx(data: bytes, limits: Limits) -> Reading:
    """The sheets of a workbook; `page` is the number of the sheet."""
    Package(data, limits).check_xml()
    try:
        workbook = load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        try:
            return _read(workbook, limits)
        finally:
            workbook.close()
    except (InvalidFileException, *PACKAGE_FAILURES) as error:
        raise BrokenFile() from error


def _read(workbook, limits: Limits) -> Reading:  # type: ignore[no-untyped-def]  # openpyxl has no types
    blocks: list[Block] = []
    pairs: list[QuestionAnswer] = []
    warnings: list[str] = []
    budget = _Budget(limits)
    sheets = workbook.worksheets
    for number, sheet in enumerate(sheets, start=1):
        if sheet.sheet_state != "visible":
            warnings.append(f'The hidden sheet "{fold(sheet.title)}" was left out.')
            continue
        rows, beyond = _grid(sheet, budget)
        if beyond:
            where = f'the sheet "{fold(sheet.title)}" beyond column {limits.max_columns}'
            warnings.append(f"Cells of {where} were left out: {beyond:,}.")
        found = pairs_of_rows(rows)
        if found:
            pairs.extend(found.pairs)
            warnings.extend(found.warnings)
        inside = list(found.blocks) if found else sheet_blocks(rows, number)
        if inside and not _DEFAULT_NAME.match(sheet.title):
            blocks.append(Block(BlockKind.HEADING, fold(sheet.title), 1, number))
        blocks.extend(inside)
    title = fold(workbook.properties.title or "")
    return Reading(
        tuple(blocks), title, pages=len(sheets), warnings=tuple(warnings), pairs=tuple(pairs)
    )


class _Budget:
    """Filled cells left to read in the whole workbook."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.max_cells
        self._deadline = Deadline(limits.seconds)

    def spend(self, cells: int) -> None:
        self._left -= cells
        self._require(self._left >= 0)
        self._deadline.check()

    def allow_grid(self, rows: int, columns: int) -> None:
        """A few cells far apart would take a grid that nobody can hold."""
        self._require(rows * columns <= _SPARSE * self._limits.max_cells)

    def _require(self, fits: bool) -> None:
        if not fits:
            raise TooComplex(f"It has more than {self._limits.max_cells:,} cells.")

    @property
    def columns(self) -> int:
        return self._limits.max_columns


def _grid(sheet, budget: _Budget) -> tuple[list[list[str]], int]:  # type: ignore[no-untyped-def]
    """Its rows, several empty ones as one, without its empty columns; and the cells beyond."""
    rows: list[dict[int, str]] = []
    beyond = 0
    for row in _rows(sheet, budget):
        within = {column: text for column, text in row.items() if column < budget.columns}
        beyond += len(row) - len(within)
        if within or (rows and rows[-1]):
            rows.append(within)
    columns = sorted(set().union(*rows))
    budget.allow_grid(len(rows), len(columns))
    return [[row.get(column, "") for column in columns] if row else [] for row in rows], beyond


def _rows(sheet, budget: _Budget) -> Iterator[dict[int, str]]:  # type: ignore[no-untyped-def]
    """The filled cells of each row by their column, which counts from 0."""
    sheet.reset_dimensions()  # what a file says of them may be wrong
    for number, row in enumerate(sheet.iter_rows()):
        if number >= _MAX_ROWS:
            raise TooComplex(f"It has more than {_MAX_ROWS:,} rows.")
        filled = [(column, cell) for column, cell in enumerate(row) if cell.value is not None]
        budget.spend(len(filled))
        yield {column: text for column, cell in filled if (text := _shown(cell))}


def _shown(cell) -> str:  # type: ignore[no-untyped-def]
    """A cell's value as text."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "✓" if value else "–"
    if isinstance(value, int | float):
        return number_text(value, cell.number_format or "General")
    if isinstance(value, date | time | timedelta):
        return date_text(value, cell.number_format or "General")
    return fold(str(value))


def date_text(value: object, number_format: str) -> str:
    """A moment, a day, a time or a duration, as openpyxl makes them of a number."""
    if isinstance(value, datetime):
        midnight = value.time() == time(0, 0)
        return value.strftime("%d.%m.%Y" if midnight else "%d.%m.%Y %H:%M")
    if isinstance(value, date):
        return value.strftime("%d.%m.%Y")
    if isinstance(value, time):
        return value.strftime("%H:%M")
    return _duration(value, number_format) if isinstance(value, timedelta) else fold(str(value))


def _duration(value: timedelta, number_format: str) -> str:
    """As its format shows it: the largest unit in full, the smaller ones in two digits."""
    largest = _TOTAL.search(number_format)
    unit = largest.group(1)[0].lower() if largest else "h"
    smaller = number_format[largest.end() :] if largest else ":mm:ss"
    seconds = int(abs(value).total_seconds())
    parts = {"h": [seconds // 3600], "m": [seconds // 60], "s": [seconds]}[unit]
    if unit == "h" and "m" in smaller.lower():
        parts.append(seconds // 60 % 60)
    if unit != "s" and "s" in smaller.lower():
        parts.append(seconds % 60)
    sign = "-" if value < timedelta() else ""
    return sign + ":".join([str(parts[0]), *(f"{part:02}" for part in parts[1:])])


def number_text(value: float, number_format: str) -> str:
    """A number the way its format shows it, without rounding what the format does not."""
    positive = number_format[:_LONGEST_FORMAT].split(";")[0]
    decimals = _DECIMALS.search(positive)
    places = len(decimals.group(1)) if decimals else 0
    if "%" in positive:
        return f"{value * 100:.{places}f}".rstrip() + "%"
    symbol = " ".join(
        filter(None, (next(filter(None, m), "").strip() for m in _LITERAL.findall(positive)))
    )
    if positive == "General" or not (decimals or "#" in positive or "0" in positive):
        digits = repr(round(value, 10)) if isinstance(value, float) else str(value)
        return digits.removesuffix(".0")
    digits = f"{value:,.{places}f}" if "," in positive else f"{value:.{places}f}"
    if _TURKISH.search(positive):
        digits = digits.translate(str.maketrans(",.", ".,"))
    return f"{digits} {symbol}".strip()
