"""Markdown (CommonMark with tables), read by markdown-it-py.

Front matter is dropped but for its title. HTML inside Markdown is read as HTML.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

from .blocks import Block, BlockKind, Reading
from .charset import decode
from .clean import fold, keep_lines, strip_marks
from .errors import TooComplex
from .html import fragment_blocks
from .limits import Deadline, Limits
from .tables import table_block

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_TITLE = re.compile(r"^title:[ \t]*(?:\"(.*)\"|'(.*)'|(.*))[ \t]*$", re.M | re.I)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_PIECE = 300_000
_DENSE = 3_000
_MOST_CELLS = 100_000  # of one table: each is parsed as text of its own
_TAG = re.compile(r"<[^>]*>")
_HOLDERS = ("bullet_list_open", "ordered_list_open", "list_item_open", "blockquote_open")
_MAX_NESTING = 100  # a list takes two of them; what is inside more is not read
_PARSER = MarkdownIt("commonmark", {"html": True, "maxNesting": _MAX_NESTING}).enable(
    ["table", "strikethrough"]
)


def read_markdown(data: bytes, limits: Limits) -> Reading:
    """The blocks of a Markdown file."""
    text, charset = decode(data)
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    body = strip_marks(text)
    front = _FRONT_MATTER.match(body)
    title = ""
    if front:
        body = body[front.end() :]
        found = _TITLE.search(front.group(1))
        title = fold(next(filter(None, found.groups()), "")) if found else ""
    deadline = Deadline(limits.seconds)
    blocks: list[Block] = []
    cut = False
    for piece in _pieces(body):
        deadline.check()
        _refuse_dense(piece)
        tokens = _PARSER.parse(piece)
        cut = cut or any(map(_is_cut, tokens))
        blocks.extend(_Walk(tokens).blocks())
    warnings = (f"Lists nested deeper than {_MAX_NESTING // 2 - 1} levels were left out.",)
    return Reading(tuple(blocks), title=title, charset=charset, warnings=warnings if cut else ())


def _is_cut(token: Token) -> bool:
    """Whether the parser opened this and looked no further."""
    return token.nesting == 1 and token.level >= _MAX_NESTING - 1 and token.type in _HOLDERS


def _pieces(text: str) -> Iterator[str]:
    """A long text cut before headings, so that its tokens are not in memory all at once."""
    piece: list[str] = []
    size, fenced = 0, False
    for line in text.splitlines(keepends=True):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        if size > _PIECE and line.startswith("#") and not fenced:
            yield "".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line)
    yield "".join(piece)


def _refuse_dense(text: str) -> None:
    """Refuse a paragraph of thousands of marks, which takes the parser minutes."""
    for paragraph in _BLANK_LINE.split(text):
        is_table = "|" in paragraph.partition("\n")[0]
        if is_table and paragraph.count("|") > _MOST_CELLS:
            raise TooComplex(f"A table in it has more than {_MOST_CELLS:,} cells.")
        if not is_table and sum(map(paragraph.count, "[*_`<!&")) > _DENSE:
            raise TooComplex("A paragraph in it holds thousands of marks.")


class _Walk:
    """One pass over the flat list of tokens; `list_depth` tells items from paragraphs."""

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._list_depth = 0
        self._heading = 0

    def blocks(self) -> Iterator[Block]:
        position = 0
        while position < len(self._tokens):
            token = self._tokens[position]
            if token.type == "table_open":
                end = self._end_of_table(position)
                yield from filter(None, [_table(self._tokens[position:end])])
                position = end
            yield from self._block(token)
            position += 1

    def _end_of_table(self, start: int) -> int:
        types = (token.type for token in self._tokens[start:])
        return start + next(i for i, kind in enumerate(types) if kind == "table_close")

    def _block(self, token: Token) -> Iterator[Block]:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                self._list_depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self._list_depth -= 1
            case "heading_open":
                self._heading = int(token.tag[1])
            case "heading_close":
                self._heading = 0
            case "inline":
                yield from self._inline(token)
            case "fence" | "code_block":
                if code := keep_lines(token.content):
                    yield Block(BlockKind.CODE, code)
            case "html_block":
                yield from fragment_blocks(token.content)

    def _inline(self, token: Token) -> Iterator[Block]:
        text = fold(inline_text(token))
        if not text:
            return
        if self._heading:
            yield Block(BlockKind.HEADING, text, self._heading)
        else:
            kind = BlockKind.LIST_ITEM if self._list_depth else BlockKind.PARAGRAPH
            yield Block(kind, text)


def inline_text(token: Token) -> str:
    """What a reader sees of an inline token: link texts and image descriptions, no marks."""
    parts = []
    for child in token.children or []:
        if child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
        elif child.type == "image":
            parts.append(child.content)
        elif child.type == "html_inline":
            parts.append(_TAG.sub(" " if child.content.startswith("<br") else "", child.content))
        else:
            parts.append(child.content)
    return "".join(parts)


def _table(tokens: list[Token]) -> Block | None:
    """The table of the tokens between table_open and table_close."""
    grid: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            grid.append([])
        elif token.type == "inline":
            grid[-1].append(inline_text(token))
    has_header = bool(grid) and any(grid[0])
    return table_block(grid, header_rows=1 if has_header else 0)
