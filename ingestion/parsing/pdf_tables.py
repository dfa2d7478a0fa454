"""Tables on a PDF page: those drawn with rules, and those only aligned.

Ruled: rules that touch form a grid when they give at least two columns or two rows; runs fall into
cells by their middle. Aligned: lines in sequence whose runs stand in the same columns, at least
three of them; a line that fills only later columns continues the row above.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from .pdf_page import Rule, Run

_TOUCH = 3.0
_MIN_ALIGNED_LINES = 3
_MIN_COLUMN_GAP = 4.0


@dataclass
class Grid:
    """A table found on a page: its place, and its cells as text."""

    top: float
    bottom: float
    x0: float
    x1: float
    rows: list[list[str]]
    runs: list[Run] = field(default_factory=list)
    bold_first: bool = False


def ruled_tables(runs: Sequence[Run], rules: Sequence[Rule]) -> list[Grid]:
    """Grids drawn with rules, top to bottom."""
    found = (_ruled(group, runs) for group in _touching(rules))
    return sorted((grid for grid in found if grid), key=lambda grid: grid.top)


def _touching(rules: Sequence[Rule]) -> Iterator[list[Rule]]:
    """Groups of rules that are connected."""
    groups: list[tuple[list[float], list[Rule]]] = []
    for rule in sorted(rules, key=lambda r: (r.y0, r.x0)):
        box, members = [rule.x0, rule.y0, rule.x1, rule.y1], [rule]
        apart = []
        for other in groups:
            if _overlap(box, other[0]):
                box = _union(box, other[0])
                members = other[1] + members
            else:
                apart.append(other)
        groups = [*apart, (box, members)]
    yield from (members for _, members in groups)


def _overlap(a: list[float], b: list[float]) -> bool:
    across = a[0] <= b[2] + _TOUCH and b[0] <= a[2] + _TOUCH
    return across and a[1] <= b[3] + _TOUCH and b[1] <= a[3] + _TOUCH


def _union(a: list[float], b: list[float]) -> list[float]:
    return [min(a[0], b[0]), min(a[1], b[1]), max(a[2], b[2]), max(a[3], b[3])]


def _ruled(rules: list[Rule], runs: Sequence[Run]) -> Grid | None:
    xs = _positions([rule.x0 for rule in rules if rule.vertical])
    ys = _positions([rule.y0 for rule in rules if not rule.vertical])
    if len(xs) < 2 or len(ys) < 2 or (len(xs) - 1) * (len(ys) - 1) < 2 or len(xs) < 3:
        return None
    inside = [
        run
        for run in runs
        if xs[0] - _TOUCH <= (run.x0 + run.x1) / 2 <= xs[-1] + _TOUCH
        and ys[0] - _TOUCH <= run.middle <= ys[-1] + _TOUCH
    ]
    if len(inside) < 2:
        return None
    if (trimmed := _without_frames(xs, ys, rules)) != ys:
        kept = (
            [
                rule
                for rule in rules
                if trimmed[0] - _TOUCH <= rule.y1 and rule.y0 <= trimmed[-1] + _TOUCH
            ]
            if trimmed
            else []
        )
        clipped = [_clip(rule, trimmed) for rule in kept]
        return _ruled(clipped, runs) if len(trimmed) > 2 else None
    cells: dict[tuple[int, int], list[Run]] = {}
    for run in inside:
        spot = _slot(ys, run.middle), _slot(xs, min(run.x0 + 2, run.x1))
        cells.setdefault(spot, []).append(run)
    rows = [
        [cell_text(cells.get((row, column), [])) for column in range(len(xs) - 1)]
        for row in range(len(ys) - 1)
    ]
    _fill_merged(rows, xs, ys, [rule for rule in rules if not rule.vertical])
    first = [run for (row, _), found in cells.items() if row == 0 for run in found]
    rest = [run for (row, _), found in cells.items() if row > 0 for run in found]
    bold = bool(first) and all(r.bold for r in first) and not all(r.bold for r in rest)
    return Grid(ys[0], ys[-1], xs[0], xs[-1], rows, inside, bold)


def _without_frames(xs: list[float], ys: list[float], rules: list[Rule]) -> list[float]:
    """The rows' edges without leading and trailing rows that no inner rule divides."""

    def divided(top: float, bottom: float) -> bool:
        middle = (top + bottom) / 2
        inner = (rule for rule in rules if rule.vertical and rule.y0 <= middle <= rule.y1)
        return any(xs[0] + _TOUCH < rule.x0 < xs[-1] - _TOUCH for rule in inner)

    rows = [divided(top, bottom) for top, bottom in pairwise(ys)]
    if not any(rows):
        return []
    first, last = rows.index(True), len(rows) - 1 - rows[::-1].index(True)
    return ys[first : last + 2]


def _clip(rule: Rule, ys: list[float]) -> Rule:
    """A rule cut to the height of a table."""
    return Rule(rule.x0, max(rule.y0, ys[0]), rule.x1, min(rule.y1, ys[-1]))


def _fill_merged(
    rows: list[list[str]], xs: list[float], ys: list[float], rules: list[Rule]
) -> None:
    """Cells that no rule parts from the one above share its text, where only one has any."""
    for column in range(len(xs) - 1):
        middle = (xs[column] + xs[column + 1]) / 2
        merged = [0]
        for row in range(1, len(rows) + 1):
            parted = row == len(rows) or any(
                abs(rule.y0 - ys[row]) <= _TOUCH and rule.x0 <= middle <= rule.x1 for rule in rules
            )
            if not parted:
                merged.append(row)
                continue
            texts = [rows[i][column] for i in merged if rows[i][column]]
            for i in merged if len(texts) == 1 else []:
                rows[i][column] = texts[0]
            merged = [row]


def _positions(values: list[float]) -> list[float]:
    """Sorted distinct positions; nearer ones than a touch are one."""
    distinct: list[float] = []
    for value in sorted(values):
        if not distinct or value - distinct[-1] > _TOUCH:
            distinct.append(value)
    return distinct


def _slot(edges: list[float], value: float) -> int:
    index = sum(edge <= value for edge in edges) - 1
    return max(0, min(index, len(edges) - 2))


def cell_text(runs: list[Run]) -> str:
    """The text of a cell's runs, line by line."""
    return join_lines([" ".join(r.text for r in line) for line in lines_of(runs)])


def lines_of(runs: Sequence[Run]) -> list[list[Run]]:
    """Runs grouped into lines from top to bottom, each from left to right."""
    lines: list[list[Run]] = []
    for run in sorted(runs, key=lambda r: r.middle):
        line = lines[-1] if lines else None
        if line and _same_line(line, run):
            line.append(run)
        else:
            lines.append([run])
    return [sorted(line, key=lambda r: r.x0) for line in lines]


def _same_line(line: list[Run], run: Run) -> bool:
    """The same baseline, or small letters set higher or lower beside large ones."""
    tallest = max(line, key=lambda r: r.size)
    if abs(run.bottom - tallest.bottom) <= 0.35 * min(run.size, tallest.size):
        return True
    small, large = sorted((run, tallest), key=lambda r: r.size)
    return small.size < 0.8 * large.size and large.top <= small.middle <= large.bottom


def join_lines(lines: Sequence[str]) -> str:
    """Lines of one paragraph as one text; words divided at a line's end are joined."""
    text = ""
    for line in lines:
        if not text:
            text = line
        elif _divided(text, line):
            text = text[:-1] + line
        elif (text.endswith("-") and line[:1].isdigit()) or (
            text.endswith((".", "/", "@"))
            and any(sign in text.split()[-1] for sign in ("@", "://"))
        ):
            text += line
        else:
            text += " " + line
    return text


def _divided(text: str, line: str) -> bool:
    """A hyphen after two letters or more, before a small letter, divides a word."""
    return text.endswith("-") and text[-3:-1].isalpha() and len(text) > 3 and line[:1].islower()


def aligned_tables(lines: Sequence[Sequence[Run]]) -> list[tuple[int, int, list[list[str]]]]:
    """`(first, end, rows)` for sequences of lines that stand in columns."""
    found = []
    start = 0
    while start < len(lines):
        end = _aligned_end(lines, start)
        rows = _aligned_rows(lines[start:end]) if end - start >= _MIN_ALIGNED_LINES else None
        if rows:
            found.append((start, end, rows))
            start = end
        else:
            start += 1
    return found


def _aligned_end(lines: Sequence[Sequence[Run]], start: int) -> int:
    """Where the sequence of lines with two runs or more that begins here ends."""
    if len(lines[start]) < 2:
        return start
    end = start + 1
    columns = _columns(lines[start : start + 1])
    if len(columns) < 2:
        return start
    while end < len(lines) and _near(lines[end - 1], lines[end]):
        merged = _columns(lines[start : end + 1])
        if len(merged) < 2 or len(merged) < len(columns) or _spans(lines[end], columns):
            break
        columns = merged
        end += 1
    while end > start and len(lines[end - 1]) < 2 and not _continues_row(lines[end - 1], columns):
        end -= 1
    return end


def _near(above: Sequence[Run], below: Sequence[Run]) -> bool:
    return below[0].top - above[0].bottom < 1.2 * max(above[0].size, below[0].size)


def _spans(line: Sequence[Run], columns: list[tuple[float, float]]) -> bool:
    """A single run that begins in the first column and is wider is a paragraph, not a cell."""
    return len(line) == 1 and line[0].x1 > columns[1][0] and line[0].x0 < columns[0][1]


def _continues_row(line: Sequence[Run], columns: list[tuple[float, float]]) -> bool:
    return len(columns) > 1 and line[0].x0 >= columns[1][0] - 2


def _columns(lines: Sequence[Sequence[Run]]) -> list[tuple[float, float]]:
    """Intervals of x that runs fill, with clear gaps between."""
    intervals: list[tuple[float, float]] = []
    for x0, x1 in sorted((run.x0, run.x1) for line in lines for run in line):
        if intervals and x0 - intervals[-1][1] < _MIN_COLUMN_GAP:
            intervals[-1] = (intervals[-1][0], max(intervals[-1][1], x1))
        else:
            intervals.append((x0, x1))
    return intervals


def _aligned_rows(lines: Sequence[Sequence[Run]]) -> list[list[str]] | None:
    columns = _columns(lines)
    full = sum(len(line) >= 2 for line in lines)
    if len(columns) < 2 or full < _MIN_ALIGNED_LINES:
        return None
    rows: list[list[str]] = []
    for line in lines:
        cells = [""] * len(columns)
        for run in line:
            spot = max(i for i, (x0, _) in enumerate(columns) if run.x0 >= x0 - 1)
            cells[spot] = f"{cells[spot]} {run.text}".strip()
        if rows and not cells[0] and _fills_less(cells, rows[-1]):
            rows[-1] = [
                join_lines(list(filter(None, pair))) for pair in zip(rows[-1], cells, strict=True)
            ]
        else:
            rows.append(cells)
    return rows if len(rows) >= 2 else None


def _fills_less(cells: list[str], above: list[str]) -> bool:
    return sum(map(bool, cells)) < sum(map(bool, above))
