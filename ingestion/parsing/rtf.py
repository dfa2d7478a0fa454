"""RTF: paragraphs, headings by outline level, lists, tables, footnotes.

RTF is a stream of control words and groups. The reader keeps a stack of states (which destination,
which charset), collects text, and closes paragraphs, cells and rows where the stream says so.
Pictures, fields' instructions, page headers and footers are destinations that are skipped.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from .blocks import Block, BlockKind, Reading
from .clean import fold, words
from .errors import BrokenFile, TooComplex
from .limits import Limits
from .tables import table_block

_TOKEN = re.compile(
    rb"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z'])|([{}])|([^\\{}\r\n]+)"
)
_SKIPPED = words(
    "pict object fonttbl colortbl stylesheet info header headerl headerr headerf footer footerl "
    "footerr footerf fldinst themedata colorschememapping datastore latentstyles generator "
    "xmlnstbl listtable listoverridetable revtbl rsidtbl pgdsctbl filetbl annotation atnid "
    "atnauthor atndate bkmkstart bkmkend shpinst sp nonshppict mmathPr operator ftnsep "
    "ftnsepc aftnsep template nonesttables"
)
_FURNITURE = words("header headerl headerr headerf footer footerl footerr footerf")
_MARKS = words("listtext pntext")
_KEPT = words("footnote shptxt nesttableprops")
_SIGNS = {
    "tab": "\t", "line": "\n", "emdash": "—", "endash": "–", "lquote": "‘",
    "rquote": "’",
    "ldblquote": "“", "rdblquote": "”", "bullet": "•", "emspace": " ", "enspace": " ",
}  # fmt: skip
_CHARSETS = {
    0: "cp1252", 162: "cp1254", 238: "cp1250", 204: "cp1251", 161: "cp1253", 177: "cp1255",
    178: "cp1256", 186: "cp1257", 128: "cp932", 77: "mac_roman",
}  # fmt: skip
_MAX_DEPTH = 1_000


@dataclass
class _State:
    """What a group inherits from the one around it."""

    skip: bool = False
    furniture: bool = False
    note: bool = False
    mark: bool = False
    codec: str = "cp1252"
    after_unicode: int = 1
    ignorable: bool = False
    table_depth: int = 1


@dataclass
class _Paragraph:
    parts: list[str] = field(default_factory=list)
    level: int = 0
    style: int = 0
    item: bool = False
    in_table: bool = False
    depth: int = 1


def read_rtf(data: bytes, limits: Limits) -> Reading:
    """The blocks of an RTF file."""
    if len(data) > limits.max_archive_bytes:
        raise TooComplex()
    reader = _Reader(data, limits)
    reader.run()
    return Reading(
        tuple(reader.blocks),
        charset=reader.charset,
        boilerplate_removed=reader.removed,
        warnings=("The file ends early; the rest of it is missing.",) if reader.cut_off else (),
    )


class _Reader:
    def __init__(self, data: bytes, limits: Limits) -> None:
        self.blocks: list[Block] = []
        self.removed = 0
        self._data = data
        self._limits = limits
        self._fonts = _font_codecs(data)
        self._levels = _style_levels(data)
        page = re.search(rb"\\ansicpg(\d+)", data[:2000])
        self._codec = _codec(f"cp{int(page.group(1))}") if page else "cp1252"
        self.charset = self._codec.replace("cp125", "windows-125")
        self._stack: list[_State] = []
        self._state = _State(codec=self._codec)
        self._bytes = bytearray()
        self._paragraph = _Paragraph()
        self._notes: list[str] = []
        self._table_notes: list[str] = []
        self._note: list[str] = []
        self._tables: list[_Table] = []
        self._drop = 0
        self._size = 0

    def run(self) -> None:
        position = 0
        while match := _TOKEN.search(self._data, position):
            position = match.end()
            word, number, byte, sign, brace, text = match.groups()
            if word == b"bin":
                position += max(0, int(number or 0))
            elif word:
                self._word(word.decode("ascii"), int(number) if number else None)
            elif byte:
                self._byte(int(byte, 16))
            elif sign:
                self._sign(sign)
            elif brace:
                self._brace(brace)
            else:
                for value in text:
                    self._byte(value)
        self._end_paragraph()
        self._end_tables()
        if self._stack and not self.blocks:
            raise BrokenFile()

    @property
    def cut_off(self) -> bool:
        """Whether groups were still open at the end of the file."""
        return bool(self._stack)

    def _brace(self, brace: bytes) -> None:
        self._decode()
        if brace == b"{":
            if len(self._stack) > _MAX_DEPTH:
                raise TooComplex("Its groups are nested too deeply.")
            self._stack.append(replace(self._state))
            return
        if not self._stack:
            return
        before, self._state = self._state, self._stack.pop()
        if before.note and not self._state.note:
            if note := fold(_joined(self._note)):
                self._notes.append(note)
            self._note = []

    def _byte(self, value: int) -> None:
        if self._drop:
            self._drop -= 1
        elif not self._state.skip and not self._state.mark:
            self._bytes.append(value)

    def _decode(self) -> None:
        """Move collected bytes into the text they belong to."""
        if self._bytes:
            text = self._bytes.decode(self._state.codec, "replace")
            self._bytes.clear()
            self._add(text)

    def _add(self, text: str) -> None:
        if self._state.skip or self._state.mark:
            return
        self._size += len(text)
        if self._size > self._limits.max_characters:
            raise TooComplex(f"It holds more than {self._limits.max_characters:,} characters.")
        (self._note if self._state.note else self._paragraph.parts).append(text)

    def _sign(self, sign: bytes) -> None:
        self._decode()
        if sign == b"*":
            self._state.ignorable = True
        elif sign == b"~":
            self._add(" ")
        elif sign == b"_":
            self._add("-")
        elif sign in b"\r\n":
            self._end_paragraph()
        elif sign in b"\\{}":
            self._byte(sign[0])

    def _word(self, word: str, number: int | None) -> None:
        self._decode()
        state = self._state
        if state.ignorable:
            state.ignorable = False
            if word not in _MARKS and word not in _KEPT:
                state.skip = True
        if word in _SKIPPED:
            self.removed += int(word in _FURNITURE and not state.skip)
            state.skip = True
        elif word in _MARKS:
            state.mark = True
            self._paragraph.item = True
        elif word == "footnote":
            state.note = True
        elif word == "u" and number is not None:
            self._add(chr(number % 65536))
            self._drop = state.after_unicode
        elif word == "uc":
            state.after_unicode = max(0, min(number or 0, 8))
        elif word == "f" and number is not None:
            state.codec = self._fonts.get(number, self._codec)
        elif word in _SIGNS:
            self._add(_SIGNS[word])
        elif word == "nesttableprops":
            state.table_depth = max(2, self._paragraph.depth)
        elif not state.skip and not state.note and not state.mark:
            self._layout(word, number)

    def _layout(self, word: str, number: int | None) -> None:
        """Words that shape paragraphs and tables."""
        paragraph = self._paragraph
        match word:
            case "par" | "sect" | "page":
                self._end_paragraph()
            case "pard":
                self._paragraph = _Paragraph(paragraph.parts, depth=paragraph.depth)
            case "outlinelevel" if number is not None and number < 9:
                paragraph.level = min(6, number + 1)
            case "s" if number is not None:
                paragraph.level = self._levels.get(number, 0)
            case "ls" if number:
                paragraph.item = True
            case "intbl":
                paragraph.in_table = True
            case "itap" if number is not None:
                paragraph.depth = max(1, min(number, 5))
            case "cell":
                self._end_cell(1)
            case "nestcell":
                self._end_cell(max(2, paragraph.depth))
            case "row" | "nestrow" | "trowd" | "trhdr" | "cellx" | "clvmrg" | "clmrg":
                depth = max(2, paragraph.depth) if word == "nestrow" else self._state.table_depth
                self._table(depth).shape(word, number or 0)

    def _table(self, depth: int) -> _Table:
        while len(self._tables) < depth:
            self._tables.append(_Table())
        return self._tables[depth - 1]

    def _end_cell(self, depth: int) -> None:
        self._table(depth).end_cell(fold(_joined(self._paragraph.parts)))
        self._paragraph.parts = []
        self._table_notes += self._notes
        self._notes = []

    def _end_paragraph(self) -> None:
        self._decode()
        paragraph = self._paragraph
        text = fold(_joined(paragraph.parts))
        self._paragraph = replace(paragraph, parts=[])
        if paragraph.in_table:
            self._table(paragraph.depth).pending.append(text)
        elif text:
            self._end_tables()
            kind = BlockKind.LIST_ITEM if paragraph.item else BlockKind.PARAGRAPH
            kind = BlockKind.HEADING if paragraph.level else kind
            self.blocks.append(Block(kind, text, paragraph.level))
            self._flush_notes()

    def _end_tables(self) -> None:
        self.blocks.extend(filter(None, (table.block() for table in self._tables)))
        self._tables.clear()
        self.blocks.extend(_note_blocks(self._table_notes))
        self._table_notes = []

    def _flush_notes(self) -> None:
        self.blocks.extend(_note_blocks(self._notes))
        self._notes = []


def _joined(parts: list[str]) -> str:
    """RTF writes a character beyond the basic plane as two halves, of which one alone is none."""
    return "".join(parts).encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _note_blocks(notes: list[str]) -> list[Block]:
    return [Block(BlockKind.PARAGRAPH, note) for note in notes]


class _Table:
    """Rows as they are closed. `pending` holds earlier paragraphs of the cell being read."""

    def __init__(self) -> None:
        self.pending: list[str] = []
        self._cells: list[str] = []
        self._ends: list[int] = []
        self._merged: dict[int, str] = {}
        self._rows: list[tuple[list[str], list[int]]] = []
        self._header_row = False
        self._headers = 0

    def shape(self, word: str, number: int) -> None:
        """A control word that describes the row."""
        match word:
            case "trowd":
                self._header_row, self._ends, self._merged = False, [], {}
            case "trhdr":
                self._header_row = True
            case "clvmrg" | "clmrg":
                self._merged[len(self._ends)] = word
            case "cellx":
                self._ends.append(number)
            case "row" | "nestrow":
                self.end_row()

    def end_cell(self, text: str) -> None:
        self._cells.append(fold(" ".join((*self.pending, text))))
        self.pending.clear()

    def end_row(self) -> None:
        if self._cells:
            self._headers += int(self._header_row and self._headers == len(self._rows))
            above = self._rows[-1][0] if self._rows else []
            for i, word in self._merged.items():
                if word == "clvmrg" and i < min(len(above), len(self._cells)):
                    self._cells[i] = above[i]
                elif word == "clmrg" and 0 < i < len(self._cells):
                    self._cells[i] = self._cells[i - 1]
            self._rows.append((self._cells, self._ends))
        self._cells = []

    def block(self) -> Block | None:
        self.end_row()
        grid = [self._spread(cells, ends) for cells, ends in self._rows]
        return table_block(grid, header_rows=self._headers or None) if grid else None

    def _spread(self, cells: list[str], ends: list[int]) -> list[str]:
        """A cell that is as wide as several columns of other rows stands in all of them."""
        edges = sorted({end for _, row_ends in self._rows for end in row_ends})
        if len(ends) != len(cells) or len(edges) > 3 * max(len(row) for row, _ in self._rows):
            return cells
        line: list[str] = []
        for cell, end in zip(cells, ends, strict=True):
            line += [cell] * max(1, sum(edge <= end for edge in edges) - len(line))
        return line


def _codec(name: str) -> str:
    try:
        return codecs.lookup(name).name
    except LookupError:
        return "cp1252"


def _font_codecs(data: bytes) -> dict[int, str]:
    """The charset of each font in the font table."""
    table = data[:200_000].partition(b"\\fonttbl")[2]
    fonts = re.findall(rb"\\f(\d{1,5})\b(?:(?!\\f\d).)*?\\fcharset(\d{1,3})", table, re.S)
    return {int(f): _CHARSETS[int(c)] for f, c in fonts if int(c) in _CHARSETS}


def _style_levels(data: bytes) -> dict[int, int]:
    """Heading level by number of paragraph style, from names and outline levels."""
    sheet = data[:400_000].partition(b"\\stylesheet")[2]
    levels: dict[int, int] = {}
    for number, body in re.findall(rb"\{\\s(\d{1,5})\b([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}", sheet):
        named = re.search(rb"[Hh]eading (\d);", body) or re.search(
            rb"\\outlinelevel([0-8])\b", body
        )
        if named:
            level = int(named.group(1))
            levels[int(number)] = min(6, level if b"eading" in named.group(0) else level + 1)
        elif re.search(rb"\bTitle;", body):
            levels[int(number)] = 1
    return levels
