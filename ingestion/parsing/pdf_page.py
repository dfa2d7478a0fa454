"""One PDF page as runs of text with positions, and the rules drawn on it.

pdfium names each character with its box. Characters that follow each other on a baseline form a
run; a run ends at a wide gap or where a vertical rule stands between, so a table's cell is never
one run with its neighbour. Coordinates are points with y growing downwards, as the page is read
(its rotation applied). Characters that the PDF's fonts cannot name become U+FFFD.
"""

from __future__ import annotations

import ctypes
import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pypdfium2.raw as pdfium
from pypdfium2 import PdfPage

# Gaps, in font sizes: wider ones separate two runs, or two words.
_WIDE_GAP = 1.5
_SPACE_GAP = 0.25
_MAX_PATHS = 4_000
_MAX_SEGMENTS = 200
_RULE_THICKNESS = 2.5
_HYPHENS = {0x02: "-", 0xAD: "-", 0xFFFE: "-"}
_BOLD_WEIGHT = 600
# Boxes of accented capitals are taller than their line, so lines are built on the baseline.
_ASCENT, _DESCENT = 0.9, 0.22


@dataclass(slots=True)
class Run:
    """Neighbouring characters on one line. `size` is the font's size in points."""

    text: str
    x0: float
    top: float
    x1: float
    bottom: float
    size: float
    bold: bool

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


@dataclass(frozen=True, slots=True)
class Rule:
    """A straight line: horizontal (y0 == y1) or vertical (x0 == x1)."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def vertical(self) -> bool:
        return self.x0 == self.x1


@dataclass(slots=True)
class PageText:
    """What is on one page; `number` counts from 1."""

    number: int
    width: float
    height: float
    runs: list[Run]
    rules: list[Rule]


def read_page(page: PdfPage, number: int) -> PageText:
    """Runs and rules of a page."""
    frame = _Frame(page)
    rules = list(_rules(page, frame))
    columns = [rule for rule in rules if rule.vertical]
    textpage = page.get_textpage()
    try:
        runs = list(_runs(textpage.raw, frame, columns))
    finally:
        textpage.close()
    return PageText(number, frame.width, frame.height, runs, rules)


class _Frame:
    """Turns the page's own coordinates into those of a reader."""

    def __init__(self, page: PdfPage) -> None:
        self._left, self._low, self._right, self._high = page.get_bbox()
        self._turn = page.get_rotation() % 360
        width, height = self._right - self._left, self._high - self._low
        self.width, self.height = (height, width) if self._turn in (90, 270) else (width, height)

    def box(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        """`(left, top, right, bottom)` of a rectangle given by two corners."""
        ax, ay = self._point(x0, y0)
        bx, by = self._point(x1, y1)
        return min(ax, bx), min(ay, by), max(ax, bx), max(ay, by)

    def place(self, box: pdfium.FS_RECTF, x: float, y: float) -> tuple[float, float, float]:
        """`(left, right, baseline)` of a character by its box and its origin."""
        if not self._turn:  # nearly every page, and called for every character
            return box.left - self._left, box.right - self._left, self._high - y
        left, _, right, _ = self.box(box.left, box.bottom, box.right, box.top)
        return left, right, self._point(x, y)[1]

    def _point(self, x: float, y: float) -> tuple[float, float]:
        match self._turn:
            case 90:
                return y - self._low, x - self._left
            case 180:
                return self._right - x, y - self._low
            case 270:
                return self._high - y, self._right - x
        return x - self._left, self._high - y

    def is_level(self, angle: float) -> bool:
        """Whether letters at `angle` (radians, clockwise) stand upright for the reader."""
        degrees = (angle * 57.29578 + self._turn) % 360
        return degrees < 5 or degrees > 355


@dataclass(slots=True)
class _Glyph:
    """One character; `font_size` is as written in the file, before any scaling."""

    index: int
    char: str
    x0: float
    x1: float
    baseline: float
    font_size: float


def _glyphs(textpage: object, frame: _Frame) -> Iterator[_Glyph]:
    """The characters of a page in the order of its content; spaces have no box."""
    rectangle = pdfium.FS_RECTF()
    x, y = ctypes.c_double(), ctypes.c_double()
    for index in range(pdfium.FPDFText_CountChars(textpage)):
        char = _character(textpage, index)
        if char.isspace():
            yield _Glyph(index, " ", 0, 0, 0, 0)
        elif char:
            pdfium.FPDFText_GetLooseCharBox(textpage, index, ctypes.byref(rectangle))
            pdfium.FPDFText_GetCharOrigin(textpage, index, ctypes.byref(x), ctypes.byref(y))
            left, right, baseline = frame.place(rectangle, x.value, y.value)
            size = pdfium.FPDFText_GetFontSize(textpage, index)
            yield _Glyph(index, char, left, right, baseline, size)


def _runs(textpage: object, frame: _Frame, columns: list[Rule]) -> Iterator[Run]:
    """Group characters, in the order of the page's content, into runs."""
    run: Run | None = None
    last: _Glyph | None = None
    space = False
    for glyph in _glyphs(textpage, frame):
        if glyph.char == " ":
            space = True
            continue
        if run is not None and last is not None and _continues(run, last, glyph, columns):
            if not _is_shadow(last, glyph, run.size):
                run.text += _space(space, run, last, glyph) + glyph.char
                run.x1 = max(run.x1, glyph.x1)
        else:
            if run is not None:
                yield run
            run = _new_run(textpage, glyph, frame)
        last, space = glyph, False
    if run is not None:
        yield run


def _space(space: bool, run: Run, last: _Glyph, glyph: _Glyph) -> str:
    """Parts of a ligature share one box; between other characters a gap is a space."""
    if glyph.x0 == last.x0:
        return ""
    return " " if space or glyph.x0 - run.x1 > _SPACE_GAP * run.size else ""


def _is_shadow(last: _Glyph, glyph: _Glyph, size: float) -> bool:
    """The same letter drawn again a hair aside, to look bold."""
    return glyph.char == last.char and 0 < abs(glyph.x0 - last.x0) < 0.1 * size


def _character(textpage: object, index: int) -> str:
    """The character at an index; empty for what is no text."""
    code = pdfium.FPDFText_GetUnicode(textpage, index)
    if code in _HYPHENS:
        return "-"
    if code == 0 or pdfium.FPDFText_HasUnicodeMapError(textpage, index) == 1:
        return "\ufffd"
    char = chr(code)
    if char.isspace():
        return char
    # Controls are what a font without names for its glyphs yields.
    return "\ufffd" if unicodedata.category(char) == "Cc" else char


def _new_run(textpage: object, glyph: _Glyph, frame: _Frame) -> Run | None:
    """A run that begins at a glyph; None for slanted or upended text, as of watermarks."""
    angle = pdfium.FPDFText_GetCharAngle(textpage, glyph.index)
    if angle >= 0 and not frame.is_level(angle):
        return None
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(textpage, glyph.index, ctypes.byref(matrix))
    size = round(glyph.font_size * (math.hypot(matrix.c, matrix.d) or 1.0), 1) or 1.0
    weight = pdfium.FPDFText_GetFontWeight(textpage, glyph.index)
    bold = weight >= _BOLD_WEIGHT or "bold" in _font_name(textpage, glyph.index)
    top, bottom = glyph.baseline - _ASCENT * size, glyph.baseline + _DESCENT * size
    return Run(glyph.char, glyph.x0, top, glyph.x1, bottom, size, bold)


def _font_name(textpage: object, index: int) -> str:
    buffer = ctypes.create_string_buffer(128)
    flags = ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(textpage, index, buffer, 128, ctypes.byref(flags))
    return buffer.value.decode("utf-8", "replace").lower()


def _continues(run: Run, last: _Glyph, glyph: _Glyph, columns: list[Rule]) -> bool:
    """Whether a glyph stands right after a run on the same baseline, with no rule between."""
    size = run.size
    if abs(glyph.baseline - last.baseline) > 0.15 * size:
        return False
    if abs(glyph.font_size - last.font_size) > 0.12 * last.font_size:
        return False
    gap = glyph.x0 - run.x1
    if gap > _WIDE_GAP * size or (gap < -0.6 * size and glyph.x0 < last.x0):
        return False
    return gap < 1 or not any(
        run.x1 - 1 <= rule.x0 <= glyph.x0 + 1 and rule.y0 <= run.middle <= rule.y1
        for rule in columns
    )


def _rules(page: PdfPage, frame: _Frame) -> Iterator[Rule]:
    """Horizontal and vertical lines, thin boxes, and the edges of boxes."""
    paths = page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_PATH], max_depth=3)
    for count, path in enumerate(paths):
        if count > _MAX_PATHS:
            return
        if pdfium.FPDFPath_CountSegments(path.raw) > _MAX_SEGMENTS:
            continue
        yield from _path_rules(path.raw, frame)


def _path_rules(path: object, frame: _Frame) -> Iterator[Rule]:
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(path, ctypes.byref(matrix))
    points = _points(path, matrix)
    xs, ys = [p[0] for p in points], [p[1] for p in points]
    if not points:
        return
    left, top, right, bottom = frame.box(min(xs), min(ys), max(xs), max(ys))
    if (line := _line(left, top, right, bottom)) is not None:
        yield line
        return
    for (ax, ay, _), (bx, by, moves) in pairwise(points):
        edge = None if moves else _line(*frame.box(ax, ay, bx, by))
        if edge is not None:
            yield edge


def _line(left: float, top: float, right: float, bottom: float) -> Rule | None:
    """The rule that a flat box is, or None when it is not flat or too short."""
    if bottom - top <= _RULE_THICKNESS and right - left > 6:
        middle = (top + bottom) / 2
        return Rule(left, middle, right, middle)
    if right - left <= _RULE_THICKNESS and bottom - top > 6:
        middle = (left + right) / 2
        return Rule(middle, top, middle, bottom)
    return None


def _points(path: object, matrix: pdfium.FS_MATRIX) -> list[tuple[float, float, bool]]:
    """Corners of a path in page coordinates; the flag says that the pen was lifted before."""
    x, y = ctypes.c_float(), ctypes.c_float()
    points = []
    for index in range(pdfium.FPDFPath_CountSegments(path)):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        pdfium.FPDFPathSegment_GetPoint(segment, ctypes.byref(x), ctypes.byref(y))
        moves = pdfium.FPDFPathSegment_GetType(segment) == pdfium.FPDF_SEGMENT_MOVETO
        points.append(
            (
                matrix.a * x.value + matrix.c * y.value + matrix.e,
                matrix.b * x.value + matrix.d * y.value + matrix.f,
                moves,
            )
        )
        if pdfium.FPDFPathSegment_GetClose(segment) and points:
            start = next((p for p in reversed(points) if p[2]), points[0])
            points.append((start[0], start[1], False))
    return points
