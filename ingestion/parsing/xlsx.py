"""XLSX: each sheet as tables, values as a person sees them.

openpyxl streams the cells, with the results that Excel stored for formulas. Numbers are written by
their format: percent, dates, currency; Turkish style (35.000,50 TL) where the format is Turkish.
Hidden sheets are left out and reported.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from datetime import date, datetime, time

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
        rows = list(_rows(sheet, budget))
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
    """Cells left to read in the whole workbook."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._left = limits.max_cells
        self._deadline = Deadline(limits.seconds)

    def spend(self, cells: int) -> None:
        self._left -= cells
        if self._left < 0:
            raise TooComplex(f"It has more than {self._limits.max_cells:,} cells.")
        self._deadline.check()

    @property
    def columns(self) -> int:
        return self._limits.max_columns


def _rows(sheet, budget: _Budget) -> Iterator[list[str]]:  # type: ignore[no-untyped-def]
    sheet.reset_dimensions()
    empty = 0
    for row in sheet.iter_rows(max_col=budget.columns):
        budget.spend(len(row))
        cells = [_shown(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        empty = 0 if cells else empty + 1
        if empty <= 1:
            yield cells


def _shown(cell) -> str:  # type: ignore[no-untyped-def]
    """A cell's value as text."""
    value = cell.value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "✓" if value else "–"
    if isinstance(value, int | float):
        return _number(value, cell.number_format or "General")
    if isinstance(value, datetime):
        midnight = value.time() == time(0, 0)
        return value.strftime("%d.%m.%Y" if midnight else "%d.%m.%Y %H:%M")
    if isinstance(value, date):
        return value.strftime("%d.%m.%Y")
    if isinstance(value, time):
        return value.strftime("%H:%M")
    return fold(str(value))


def _number(value: float, number_format: str) -> str:
    """A number the way its format shows it, without rounding what the format does not."""
    positive = number_format.split(";")[0]
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
