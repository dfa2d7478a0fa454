"""What parsing yields: blocks in reading order, and a report of what was found.

A reader (one module per kind of file) returns a `Reading`; `parse` checks it, measures it and
turns it into a `ParsedDocument`. All values are frozen, so a parse can be cached, compared with a
golden file and handed between stages without copies.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class BlockKind(StrEnum):
    """The five things a document is made of, once its format is forgotten."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"


@dataclass(frozen=True)
class Block:
    """One heading, paragraph, list item, table or piece of code.

    `text` is clean NFC text, empty for a table; `level` is 1..6 for headings and 0 otherwise;
    `page` counts from 1 (a PDF's page, a presentation's slide, a workbook's sheet). A table has
    `rows` of cells, all of one width; `header`, where there is one, has that width too.
    """

    kind: BlockKind
    text: str
    level: int = 0
    page: int | None = None
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    caption: str = ""

    def all_text(self) -> str:
        """Everything a person can read in it, a line for each row of a table."""
        if self.kind is not BlockKind.TABLE:
            return self.text
        lines = [self.caption, *(" | ".join(row) for row in (self.header, *self.rows))]
        return "\n".join(line for line in lines if line)


@dataclass(frozen=True)
class QuestionAnswer:
    """A question with the answer its business wrote for it."""

    question: str
    answer: str


@dataclass(frozen=True)
class Report:
    """What was found in one file; the ground of its verdict.

    `pages_without_text` counts from 1; `characters` counts what can be read, tables included;
    `garble_ratio` is the share of characters that cannot be right (0..1); `boilerplate_removed`
    counts navigation, banners, running headers and footers that were left out.
    """

    media_type: str
    charset: str | None
    pages: int | None
    pages_without_text: tuple[int, ...]
    characters: int
    garble_ratio: float
    tables: int
    language: str | None
    boilerplate_removed: int
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """The report as plain values that JSON can hold."""
        values = asdict(self)
        values["pages_without_text"] = list(self.pages_without_text)
        values["warnings"] = list(self.warnings)
        return values


@dataclass(frozen=True)
class ParsedDocument:
    """A readable document: its title, its blocks in reading order, its report.

    `pairs` is filled only by files of questions and answers, whose `blocks` then hold the same
    text as headings and paragraphs.
    """

    title: str
    blocks: tuple[Block, ...]
    report: Report
    pairs: tuple[QuestionAnswer, ...] = ()


@dataclass(frozen=True)
class Reading:
    """What one reader found, before it is judged. `title` is empty where the file names none."""

    blocks: tuple[Block, ...]
    title: str = ""
    charset: str | None = None
    pages: int | None = None
    pages_without_text: tuple[int, ...] = ()
    boilerplate_removed: int = 0
    warnings: tuple[str, ...] = ()
    pairs: tuple[QuestionAnswer, ...] = ()
