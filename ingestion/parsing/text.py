"""Plain text: paragraphs, list items and the few headings that people mark by hand.

A blank line ends a paragraph. Where lines are wrapped by hand they are joined; where a line is a
whole paragraph (as word processors export) each stays alone. Headings are lines underlined with
= or -, lines in capitals, and numbered lines that stand alone ("3.1 Kargo ücreti").
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .blocks import Block, BlockKind, Reading
from .charset import decode
from .clean import fold, strip_marks
from .errors import TooComplex
from .limits import Limits

_BULLET = re.compile(r"^\s*(?:[-*•·▪◦‣–]|\d{1,3}[.)]|[a-zçğıöşü]\))\s+(?=\S)")
_MARK = re.compile(r"^\s*[-*•·▪◦‣–]\s+")
_UNDERLINE = re.compile(r"^\s*(={3,}|-{3,}|~{3,})\s*$")
_NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2})*)[.)]?\s+[A-ZÇĞİÖŞÜ]")
_LONGEST_HEADING = 80
# A file whose lines are longer than this was not wrapped by hand.
_WRAPPED_WIDTH = 120


def read_text(data: bytes, limits: Limits) -> Reading:
    """The blocks of a text file in any charset."""
    text, charset = decode(data)
    return Reading(tuple(text_blocks(text, limits)), charset=charset)


def text_blocks(text: str, limits: Limits) -> Iterator[Block]:
    """Blocks of plain text, as in a text file or the body of an e-mail."""
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    lines = strip_marks(text).split("\n")
    wrapped = max(map(len, lines), default=0) <= _WRAPPED_WIDTH
    for group in _groups(lines):
        yield from _group_blocks(group, wrapped)


def _groups(lines: Iterable[str]) -> Iterator[list[str]]:
    group: list[str] = []
    for line in lines:
        if line.strip():
            group.append(line)
        elif group:
            yield group
            group = []
    if group:
        yield group


def _group_blocks(lines: list[str], wrapped: bool) -> Iterator[Block]:
    """The blocks of neighbouring lines: a heading first perhaps, then items or paragraphs."""
    if len(lines) >= 2 and _UNDERLINE.match(lines[1]) and not _UNDERLINE.match(lines[0]):
        level = 1 if "=" in lines[1] else 2
        yield Block(BlockKind.HEADING, fold(lines[0]), level)
        lines = lines[2:]
    elif (level := _heading_level(lines[0], alone=len(lines) == 1)) > 0:
        yield Block(BlockKind.HEADING, fold(lines[0]), level)
        lines = lines[1:]
    for part in _parts([line for line in lines if not _UNDERLINE.match(line)], wrapped):
        yield _part_block(part)


def _heading_level(line: str, *, alone: bool) -> int:
    """1..6 for a line that a person would read as a heading, else 0."""
    text = line.strip()
    if len(text) > _LONGEST_HEADING or text.endswith((".", ",", ";", ":")):
        return 0
    letters = [c for c in text if c.isalpha()]
    if len(letters) >= 4 and all(c.isupper() for c in letters) and not _is_code(text):
        return 2
    numbered = _NUMBERED.match(text)
    return min(6, 2 + numbered.group(1).count(".")) if numbered and alone else 0


def _is_code(text: str) -> bool:
    """A product code or an IBAN in capitals is not a heading."""
    return sum(c.isdigit() for c in text) > len(text) / 4


def _parts(lines: list[str], wrapped: bool) -> Iterator[list[str]]:
    """Lines that belong together: an item with its continuation, or a wrapped paragraph."""
    part: list[str] = []
    for line in lines:
        if part and (_BULLET.match(line) or not wrapped):
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _part_block(lines: list[str]) -> Block:
    text = fold(" ".join(lines))
    if _BULLET.match(lines[0]):
        return Block(BlockKind.LIST_ITEM, _MARK.sub("", text))
    return Block(BlockKind.PARAGRAPH, text)
