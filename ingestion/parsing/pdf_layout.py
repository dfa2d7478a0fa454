"""The order in which a page is read: columns, lines, paragraphs, tables in their place.

A page splits where a white gutter divides enough text into two sides of prose; lines that cross it
(a title over two columns) divide the page into bands, read one after the other. Inside a column
lines are joined to paragraphs by their spacing, indentation and ends.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from .pdf_page import PageText, Run
from .pdf_tables import Grid, aligned_tables, join_lines, lines_of, ruled_tables

BULLET = re.compile(r"^(?:[•◦▪‣●○■□➢➤✓\-–—*\ue000-\uf8ff]|\d{1,2}[.)]|[a-zçğıöşü]\))(?:\s+|$)")
SIGN = re.compile(r"^[•◦▪‣●○■□➢➤✓\-–—*\ue000-\uf8ff]\s*(?=\S)")
_LEADERS = re.compile(r"(?<![.\s])\s*(?:\.\s?){5,}+\s*+\d*+\s*+$")
_NOTE_MARK = re.compile(r"^[\d*†]{1,3}$")
_NOTE = re.compile(r"^\d{1,2}\s*[A-ZÇĞİÖŞÜ]")
_ENDS = (".", "!", "?", ":", ";", "…")
_MIN_COLUMN_LINES = 4
_MIN_COLUMN_CHARACTERS = 15
_MAX_DEPTH = 3
_LARGER = 1.12  # than most letters of the page's prose
_HEADING_LINES = 3


@dataclass(slots=True)
class Paragraph:
    """Lines that belong together. `size` and `bold` are those of most of its text."""

    text: str
    page: int
    top: float
    size: float
    bold: bool
    item: bool
    lines: int


@dataclass(slots=True)
class TableItem:
    """A table in its place; `header` says whether its first row names the columns, if known."""

    rows: list[list[str]]
    page: int
    top: float
    header: int | None


@dataclass(frozen=True, slots=True)
class _Sheet:
    """What paragraphs are told of their page: its number, and the size of most of its letters."""

    number: int
    size: float


def _sheet(number: int, prose: Sequence[Run]) -> _Sheet:
    sizes: Counter[float] = Counter()
    for run in prose:
        sizes[round(run.size, 1)] += len(run.text)
    return _Sheet(number, sizes.most_common(1)[0][0] if sizes else 0.0)


def read_layout(page: PageText) -> list[Paragraph | TableItem]:
    """Paragraphs and tables of a page, in reading order."""
    grids = ruled_tables(page.runs, page.rules)
    taken = {id(run) for grid in grids for run in grid.runs}
    runs = [run for run in page.runs if id(run) not in taken]
    placed = [(_stand_in(grid), grid) for grid in grids]
    tables = {id(run): grid for run, grid in placed}
    sheet = _sheet(page.number, runs)
    items: list[Paragraph | TableItem] = []
    for region in _regions(runs + [run for run, _ in placed], 0):
        items.extend(_region_items(region, tables, sheet))
    return items


def _stand_in(grid: Grid) -> Run:
    """A run that holds a table's place while the order of the page is found."""
    return Run("", grid.x0, grid.top, grid.x1, grid.bottom, 10.0, False)


def _regions(runs: list[Run], depth: int) -> Iterator[list[Run]]:
    """Runs in groups, each to be read line by line, in reading order."""
    gutter, stretches = _columns(runs) if depth < _MAX_DEPTH else (0.0, [])
    if not stretches:
        if runs:
            yield runs
        return
    for stretch in stretches:
        if stretch.columns:
            yield from _regions([r for r in stretch.runs if r.x1 <= gutter + 1], depth + 1)
            yield from _regions([r for r in stretch.runs if r.x1 > gutter + 1], depth + 1)
        else:
            yield stretch.runs


@dataclass(slots=True)
class _Stretch:
    """Part of a region from some height down to another: in columns or across the page."""

    runs: list[Run]
    columns: bool
    crossed: bool


def _columns(runs: list[Run]) -> tuple[float, list[_Stretch]]:
    """The gutter that most text stands in columns around, and the stretches it makes."""
    texts = [run for run in runs if run.text]
    if len(texts) < 2 * _MIN_COLUMN_LINES:
        return 0.0, []
    left, right = min(r.x0 for r in texts), max(r.x1 for r in texts)
    starts = Counter(round(r.x0) for r in texts)
    best: tuple[int, float, list[_Stretch]] = (0, 0.0, [])
    for start, count in starts.items():
        if count >= _MIN_COLUMN_LINES and 0.2 < (start - left) / max(right - left, 1) < 0.8:
            gutter = start - 3.0
            stretches = _stretches(runs, gutter)
            size = sum(len(r.text) for s in stretches if s.columns for r in s.runs)
            if size > best[0]:
                best = (size, gutter, stretches)
    return best[1], _merged(best[2], best[1])


def _stretches(runs: list[Run], gutter: float) -> list[_Stretch]:
    """Stretches from top to bottom; a white band, or a line across the gutter, parts them."""
    stretches: list[_Stretch] = []
    bottom = 0.0
    for run in sorted(runs, key=lambda r: r.top):
        crossed = run.x0 < gutter - 1 and run.x1 > gutter + 1
        apart = run.top > bottom + 0.9 * run.size
        if not stretches or stretches[-1].crossed != crossed or (apart and not crossed):
            stretches.append(_Stretch([], False, crossed))
        stretches[-1].runs.append(run)
        bottom = max(bottom, run.bottom)
    for stretch in stretches:
        texts = [run for run in stretch.runs if run.text]
        stretch.columns = not stretch.crossed and _are_columns(texts, gutter)
    return stretches


def _merged(stretches: list[_Stretch], gutter: float) -> list[_Stretch]:
    """Neighbouring stretches as one, headings and short ends of columns with their columns."""
    merged: list[_Stretch] = []
    for stretch in stretches:
        last = merged[-1] if merged else None
        if last is None or not _belongs(stretch, last, gutter):
            merged.append(_Stretch(list(stretch.runs), stretch.columns, stretch.crossed))
        else:
            last.runs.extend(stretch.runs)
            last.columns |= stretch.columns
    whole: list[_Stretch] = []
    for stretch in merged:
        if whole and not whole[-1].columns and not stretch.columns:
            whole[-1].runs.extend(stretch.runs)
        else:
            whole.append(stretch)
    return whole


def _belongs(stretch: _Stretch, above: _Stretch, gutter: float) -> bool:
    """Whether a stretch is part of the columns above, or these begin with what is above."""
    if stretch.crossed or above.crossed:
        return False
    if not above.columns:
        return stretch.columns and _fits_columns(above.runs, gutter)
    if stretch.columns or any(run.x1 > gutter + 1 for run in stretch.runs):
        return stretch.columns or _fits_columns(stretch.runs, gutter)
    # Only the left side: the longer column goes on, if its lines are filled as a column's are.
    lines = lines_of(stretch.runs)
    width = gutter - min(run.x0 for run in above.runs)
    return len(lines) > 1 and lines[0][-1].x1 - lines[0][0].x0 > 0.85 * width


def _fits_columns(runs: list[Run], gutter: float) -> bool:
    """Whether no line has two runs on one side, as rows of a table do."""
    return all(
        sum(r.x1 <= gutter + 1 for r in line) <= 1 and sum(r.x1 > gutter + 1 for r in line) <= 1
        for line in lines_of(runs)
    )


def _are_columns(runs: list[Run], x: float) -> bool:
    """Both sides hold lines of prose that fill their width, side by side."""
    sides = [r for r in runs if r.x1 <= x + 1], [r for r in runs if r.x0 >= x - 1]
    if any(len(side) < _MIN_COLUMN_LINES for side in sides):
        return False
    tops = [(min(r.top for r in side), max(r.bottom for r in side)) for side in sides]
    shared = min(tops[0][1], tops[1][1]) - max(tops[0][0], tops[1][0])
    height = 3 * median(r.size for r in runs)
    return shared > height and all(_is_prose(side) for side in sides)


def _is_prose(runs: list[Run]) -> bool:
    lines = lines_of(runs)
    width = max(r.x1 for r in runs) - min(r.x0 for r in runs)
    lengths = [sum(len(run.text) for run in line) for line in lines]
    widths = [line[-1].x1 - line[0].x0 for line in lines]
    single = sum(len(line) == 1 for line in lines)
    return (
        median(lengths) >= _MIN_COLUMN_CHARACTERS
        and median(widths) >= 0.6 * width
        and single >= 0.6 * len(lines)
    )


def _region_items(
    runs: list[Run], tables: dict[int, Grid], sheet: _Sheet
) -> Iterator[Paragraph | TableItem]:
    lines: list[list[Run]] = []
    stands = [run for run in runs if id(run) in tables]
    for line in lines_of([run for run in runs if id(run) not in tables]):
        while stands and stands[0].top <= line[0].top:
            yield from _text_items(lines, sheet)
            lines = []
            yield _ruled_item(tables[id(stands.pop(0))], sheet.number)
        lines.append(_tidy(line))
    yield from _text_items(lines, sheet)
    for run in stands:
        yield _ruled_item(tables[id(run)], sheet.number)


def _ruled_item(grid: Grid, page: int) -> TableItem:
    return TableItem(grid.rows, page, grid.top, 1 if grid.bold_first else None)


def _tidy(line: list[Run]) -> list[Run]:
    """Drop raised note marks, and join a bullet with the text that it stands before."""
    size = max(run.size for run in line)
    runs = [r for r in line if not (r.size < 0.8 * size and _NOTE_MARK.match(r.text))] or line
    if len(runs) > 1 and BULLET.match(runs[0].text) and len(runs[0].text) <= 3:
        first, second = runs[0], runs[1]
        joined = Run(
            f"{first.text} {second.text}",
            first.x0,
            second.top,
            second.x1,
            second.bottom,
            second.size,
            second.bold,
        )
        runs = [joined, *runs[2:]]
    return runs


def _text_items(lines: list[list[Run]], sheet: _Sheet) -> Iterator[Paragraph | TableItem]:
    """Aligned tables and the paragraphs between them."""
    done = 0
    for start, end, rows in aligned_tables(lines):
        yield from _paragraphs(lines[done:start], sheet)
        bold = all(r.bold for r in lines[start]) and not all(r.bold for r in lines[start + 1])
        yield TableItem(rows, sheet.number, lines[start][0].top, 1 if bold else None)
        done = end
    yield from _paragraphs(lines[done:], sheet)


def _paragraphs(lines: list[list[Run]], sheet: _Sheet) -> Iterator[Paragraph]:
    if not lines:
        return
    right = max(line[-1].x1 for line in lines)
    pitches = [b[0].bottom - a[0].bottom for a, b in pairwise(lines)]
    group: list[list[Run]] = []
    for line in lines:
        if group and (
            _parts(group, line, _pitch(pitches, line))
            or (_begins(group, line, right) and not _is_open_heading(group, sheet))
        ):
            yield _paragraph(group, sheet.number)
            group = []
        group.append(line)
    yield _paragraph(group, sheet.number)


def _pitch(pitches: Sequence[float], line: list[Run]) -> float:
    """The usual distance of two lines of this size."""
    usual = [p for p in pitches if 0.8 * line[0].size < p < 2 * line[0].size]
    return min(median(usual), 1.6 * line[0].size) if usual else 1.25 * line[0].size


def _parts(group: list[list[Run]], line: list[Run], pitch: float) -> bool:
    """Whether a line looks or lies unlike those of `group`."""
    above, first, before = group[-1], group[0][0], group[-1][0]
    if BULLET.match(line[0].text) or abs(line[0].size - before.size) > 0.12 * before.size:
        return True
    if line[0].bottom - before.bottom > 1.3 * pitch or _bold(line) != _bold(above):
        return True
    return bool(BULLET.match(first.text)) and line[0].x0 < first.x0 + 2


def _is_open_heading(group: list[list[Run]], sheet: _Sheet) -> bool:
    """Whether a heading has reached a colon, after which its next line says the rest."""
    before = group[-1]
    large = before[0].size > _LARGER * sheet.size and len(group) < _HEADING_LINES
    return large and before[-1].text.endswith(":")


def _begins(group: list[list[Run]], line: list[Run], right: float) -> bool:
    """Whether a line begins a new paragraph where the text of `group` has ended."""
    above, first, before = group[-1], group[0][0], group[-1][0]
    text = above[-1].text
    ended = text.endswith(_ENDS)
    if ended and _NOTE.match(line[0].text):
        return True
    short = above[-1].x1 < right - max(4 * line[0].size, 0.15 * (right - line[0].x0))
    indented = line[0].x0 > before.x0 + 0.7 * line[0].size and not BULLET.match(first.text)
    return ended and (short or indented)


def _bold(line: list[Run]) -> bool:
    return all(run.bold for run in line)


def _paragraph(lines: list[list[Run]], page: int) -> Paragraph:
    texts = [" ".join(run.text for run in line) for line in lines]
    item = bool(BULLET.match(texts[0]))
    text = SIGN.sub("", join_lines(texts)) if item else join_lines(texts)
    return Paragraph(
        _LEADERS.sub("", text),
        page,
        lines[0][0].top,
        median(run.size for line in lines for run in line),
        all(map(_bold, lines)),
        item,
        len(lines),
    )
