"""Blocks become passages: spans that can be cited, each within the embedder's token limit.

A passage never crosses a heading, and carries the path of headings above it: path and title are
embedded and indexed with the text, so a short paragraph under "İade süresi" is found by it.
Paragraphs and list items are gathered up to `TARGET` tokens; a longer one is cut at sentences, a
longer sentence between words. A table row is written with its column names, rows are gathered up to
`TABLE_TARGET`, and a table that is cut repeats its title, so every passage can be read alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from ingestion.parsing import Block, BlockKind, ParsedDocument

TARGET = 160
TABLE_TARGET = 80  # rows are facts side by side: fewer of them in a passage find each other less
HEADING_SHARE = 4  # title and heading path may take a quarter of the limit
MARGIN = 8  # special tokens and the embedder's own prefix

CountTokens = Callable[[str], int]

_ABBREVIATIONS = [
    "vb",
    "vs",
    "örn",
    "bkz",
    "md",
    "no",
    "tel",
    "av",
    "dr",
    "prof",
    "sn",
    "doç",
    "öğr",
    "apt",
    "cad",
    "sok",
    "mah",
    "sk",
    "blv",
    "a.ş",
    "ltd",
    "şti",
    "yy",
    "mm",
    "e.g",
    "i.e",
    "mr",
    "mrs",
    "ms",
    "st",
    "inc",
    "etc",
    "approx",
    "fig",
]
# Each run of marks is read once, from its start: a line of dots must not cost its square.
_SENTENCE_END = re.compile(r"(?<![.!?…])([.!?…]++[\"'”’)\]]*+)\s++(?=[^\W_a-zçğıöşü]|[\"'“‘(\[])")
_LAST_WORD = re.compile(r"([\w.]{1,12})\.$")
_LONGEST_LAST = 13
_NOT_BLANK = re.compile(r"\S")


@dataclass(frozen=True, slots=True)
class Segment:
    """A passage before it is stored. `tokens` counts what is embedded, title and path included."""

    title: str
    heading: tuple[str, ...]
    page: int | None
    text: str
    tokens: int

    @property
    def whole(self) -> str:
        """What is embedded and analysed: title, heading path and text."""
        path = [name for name in self.heading if name != self.title]
        return "\n".join(part for part in (self.title, " > ".join(path), self.text) if part)


def segment(
    parsed: ParsedDocument, *, title: str, count_tokens: CountTokens, max_tokens: int
) -> tuple[Segment, ...]:
    """The passages of a document in order; `max_tokens` is the embedder's limit for one text."""
    cutter = _Cutter(title, count_tokens, max_tokens)
    return tuple(
        passage
        for heading, blocks in _sections(parsed.blocks)
        for passage in cutter.section(heading, blocks)
    )


def title_within(title: str, count_tokens: CountTokens, max_tokens: int) -> str:
    """A document's title as its passages carry it: at most an eighth of the limit."""
    room = (max_tokens - MARGIN) // (2 * HEADING_SHARE)
    return next(_spans(title, room, count_tokens), "")


def sentences(text: str) -> list[str]:
    """Sentences of one paragraph; none ends at an abbreviation, an initial or a number (`2. m`)."""
    found, start = [], 0
    for end in _SENTENCE_END.finditer(text):
        last = _LAST_WORD.search(text[max(start, end.end(1) - _LONGEST_LAST) : end.end(1)])
        if last and (last[1].lower() in _ABBREVIATIONS or len(last[1]) == 1 or last[1].isdigit()):
            continue
        found.append(text[start : end.end()].strip())
        start = end.end()
    if rest := text[start:].strip():
        found.append(rest)
    return found


def _sections(blocks: Iterable[Block]) -> Iterator[tuple[tuple[str, ...], list[Block]]]:
    """Runs of blocks under one heading path; a heading without text of its own stays in it."""
    path: list[tuple[int, str]] = []
    run: list[Block] = []
    for block in blocks:
        if block.kind is not BlockKind.HEADING:
            run.append(block)
            continue
        if run:
            yield tuple(name for _, name in path), run
            run = []
        path = [(level, name) for level, name in path if level < block.level]
        path.append((block.level, block.text))
    if run:
        yield tuple(name for _, name in path), run


@dataclass(frozen=True, slots=True)
class _Piece:
    """The smallest span that is not cut: a sentence, a list item, a table row."""

    text: str
    tokens: int
    page: int | None
    joint: str  # what stands between this piece and the one before it


class _Cutter:
    def __init__(self, title: str, count_tokens: CountTokens, max_tokens: int) -> None:
        self.count = lru_cache(maxsize=2048)(count_tokens)  # headings come again and again
        self.limit = max_tokens - MARGIN
        self.title = title_within(title, count_tokens, max_tokens)

    def section(self, heading: tuple[str, ...], blocks: list[Block]) -> Iterator[Segment]:
        path = self._short_path(heading)
        lead = self.count("\n".join((self.title, *path)))
        for group in self._groups(blocks):
            room = max(16, self.limit - lead - self.count(group.lead))
            yield from self._gather(path, lead, group, room)

    def _gather(
        self, path: tuple[str, ...], lead: int, group: _Group, room: int
    ) -> Iterator[Segment]:
        """Pieces together up to the target; the tail joins the last passage when it is small."""
        pieces = [part for piece in group.pieces for part in self._fitted(piece, room)]
        held: list[_Piece] = []
        size = 0
        left = sum(piece.tokens for piece in pieces)
        for piece in pieces:
            full = size + piece.tokens > min(group.target, room)
            tail_fits = left <= group.target // 4 and size + left <= room
            if held and full and not tail_fits:
                yield self._made(path, lead, group.lead, held, size)
                held, size = [], 0
            held.append(piece)
            size += piece.tokens
            left -= piece.tokens
        if held:
            yield self._made(path, lead, group.lead, held, size)

    def _made(
        self, path: tuple[str, ...], lead: int, caption: str, held: list[_Piece], size: int
    ) -> Segment:
        text = held[0].text + "".join(piece.joint + piece.text for piece in held[1:])
        text = f"{caption}\n{text}" if caption else text
        return Segment(self.title, path, held[0].page, text, lead + size)

    def _groups(self, blocks: list[Block]) -> Iterator[_Group]:
        """Prose gathers across blocks; each table stands alone under its title."""
        prose: list[_Piece] = []
        for block in blocks:
            if block.kind is BlockKind.TABLE and block.rows:
                if prose:
                    yield _Group("", prose)
                    prose = []
                rows = [
                    self._piece(_row(block.header, row), block.page, "\n") for row in block.rows
                ]
                yield _Group(block.caption, [row for row in rows if row.text], TABLE_TARGET)
            else:
                prose += self._prose(block)
        if prose:
            yield _Group("", prose)

    def _prose(self, block: Block) -> Iterator[_Piece]:
        if block.kind is not BlockKind.PARAGRAPH:
            mark = "- " if block.kind is BlockKind.LIST_ITEM else ""
            if block.text.strip():
                yield self._piece(mark + block.text, block.page, "\n")
            return
        for number, sentence in enumerate(sentences(block.text)):
            yield self._piece(sentence, block.page, " " if number else "\n")

    def _piece(self, text: str, page: int | None, joint: str) -> _Piece:
        return _Piece(text, self.count(text) if text else 0, page, joint)

    def _fitted(self, piece: _Piece, room: int) -> Iterator[_Piece]:
        """The piece itself, or its words in spans of `room` tokens when it is longer than that."""
        if piece.tokens <= room:
            yield piece
            return
        joint = piece.joint
        for text in _spans(piece.text, room, self.count):
            yield self._piece(text, piece.page, joint)
            joint = " "

    def _short_path(self, heading: tuple[str, ...]) -> tuple[str, ...]:
        """The headings nearest to the text, as many as their share of the limit holds."""
        room = self.limit // HEADING_SHARE
        kept: list[str] = []
        for name in reversed(heading):
            name = self._shortened(name, room)
            room -= self.count(name)
            if room < 0:
                break
            kept.insert(0, name)
        return tuple(kept)

    def _shortened(self, text: str, room: int) -> str:
        return next(_spans(text, room, self.count), "")


@dataclass(frozen=True, slots=True)
class _Group:
    lead: str
    pieces: list[_Piece]
    target: int = TARGET


def _row(header: tuple[str, ...], row: tuple[str, ...]) -> str:
    cells = [cell.strip() for cell in row]
    if len(header) != len(cells):
        return " · ".join(cell for cell in cells if cell)
    named = zip(header, cells, strict=True)
    return " · ".join(f"{name}: {cell}" if name else cell for name, cell in named if cell)


def _spans(text: str, room: int, count: CountTokens) -> Iterator[str]:
    """Consecutive spans of at most `room` tokens, cut between words, inside one if need be."""
    text, start = text.strip(), 0
    while found := _NOT_BLANK.search(text, start):
        start = found.start()
        head = text[start : start + max(1, room * 8)]
        while (size := count(head)) > room and len(head) > 1:  # a character is not cut
            head = head[: max(1, min(len(head) - 1, int(len(head) * room / size)))]
        if start + len(head) < len(text) and (space := head.rfind(" ")) > 0:
            head = head[:space]
        yield head.strip()
        start += len(head)
