"""Files of questions and answers: columns or keys that say so, in Turkish or English.

The pairs become curated answers; the same text is also given as headings and paragraphs, so that
it can be found like any other document. Markup inside an answer is read as HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from .blocks import Block, BlockKind, QuestionAnswer, Reading
from .charset import decode
from .clean import fold, fold_lines, words
from .errors import BrokenFile, NoContent, TooComplex
from .html import fragment_blocks
from .limits import Limits

_QUESTIONS = words("question questions soru sorular q query başlık_soru")
_ANSWERS = words("answer answers cevap cevaplar yanıt yanıtlar yanit a response")
_MARKUP = re.compile(r"</?(?:p|br|ul|ol|li|b|strong|a|div|span|em|i|h\d)\b[^<>]*>", re.I)
_MAX_DEPTH = 4
_ROWS_NAMED = 10


def read_json(data: bytes, limits: Limits) -> Reading:
    """Pairs in a JSON file: a list of objects, wherever it stands, or an object of texts."""
    text, charset = decode(data)
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    try:
        found = list(_pairs_in(json.loads(text.replace("\0", "")), 0))
    except (ValueError, RecursionError) as error:
        raise BrokenFile("It is not valid JSON.") from error
    if not found:
        raise NoContent('A JSON file must list objects with "question" and "answer".')
    return Reading(pair_blocks(found), charset=charset, pairs=tuple(found))


@dataclass(frozen=True)
class PairRows:
    """A table of questions and answers: `blocks` hold every text, `pairs` those that are whole."""

    pairs: tuple[QuestionAnswer, ...]
    blocks: tuple[Block, ...]
    warnings: tuple[str, ...]


def columns_of_pairs(names: Sequence[str]) -> tuple[int, int] | None:
    """The columns of the questions and of the answers, when a first row names both."""
    plain = [_plain(cell) for cell in names]
    question = next((i for i, name in enumerate(plain) if name in _QUESTIONS), None)
    answer = next((i for i, name in enumerate(plain) if name in _ANSWERS), None)
    return None if question is None or answer is None else (question, answer)


def pairs_of_rows(rows: Sequence[Sequence[str]]) -> PairRows | None:
    """Pairs of a table whose first row names a column of questions and one of answers.

    Cells beside the named columns belong to the answer. A text without its question follows the
    answer before it; a question without an answer is left out, and that is said.
    """
    columns = columns_of_pairs(rows[0]) if rows else None
    if columns is None:
        return None
    named = {i: name for i, cell in enumerate(rows[0]) if (name := fold(cell))}
    others = [name for i, name in named.items() if i not in columns and _is_filled(rows[1:], i)]
    pairs: list[QuestionAnswer] = []
    blocks: list[Block] = []
    alone, unanswered = [], []
    for number, row in enumerate(rows[1:], start=2):
        asked, answered = (_cell(row, column) for column in columns)
        answered = "\n".join(filter(None, [answered, *_beside(row, named)]))
        if pair := _pair(asked, answered):
            pairs.append(pair)
            blocks.extend(pair_blocks([pair]))
        elif asked.endswith("?"):
            unanswered.append(number)
        elif text := fold_lines(_without_markup(asked or answered)):
            blocks.extend(Block(BlockKind.PARAGRAPH, line) for line in text.split("\n"))
            alone.append(number)
    if not pairs:
        return None
    return PairRows(tuple(pairs), tuple(blocks), tuple(_odd(alone, unanswered, others)))


def _cell(row: Sequence[str], column: int) -> str:
    return row[column].strip() if column < len(row) else ""


def _is_filled(rows: Sequence[Sequence[str]], column: int) -> bool:
    return any(_cell(row, column) for row in rows)


def _beside(row: Sequence[str], named: Collection[int]) -> Iterator[str]:
    """The texts of columns that have no name."""
    return (cell.strip() for i, cell in enumerate(row) if i not in named and cell.strip())


def _odd(alone: list[int], unanswered: list[int], others: list[str]) -> Iterator[str]:
    if alone:
        yield f"{named_rows(alone)} no question; the text was kept below the one before."
    if unanswered:
        yield f"{named_rows(unanswered)} a question without an answer, which was left out."
    if others:
        yield f"Columns beside the questions and answers were not read: {', '.join(others)}."


def named_rows(numbers: Sequence[int]) -> str:
    """`Row 3 has`, `2 rows (3, 7) have`; a long list is cut short."""
    if len(numbers) == 1:
        return f"Row {numbers[0]} has"
    shown = ", ".join(map(str, numbers[:_ROWS_NAMED]))
    return f"{len(numbers)} rows ({shown}{', …' if len(numbers) > _ROWS_NAMED else ''}) have"


def pair_blocks(pairs: Iterable[QuestionAnswer]) -> tuple[Block, ...]:
    """Each question as a heading, its answer as the text below."""
    blocks: list[Block] = []
    for pair in pairs:
        blocks.append(Block(BlockKind.HEADING, fold(pair.question), 2))
        for line in pair.answer.split("\n"):
            blocks.append(Block(BlockKind.PARAGRAPH, line))
    return tuple(blocks)


def _pairs_in(value: object, depth: int) -> Iterator[QuestionAnswer]:
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, list):
        for entry in value:
            yield from _pairs_in(entry, depth + 1)
    elif isinstance(value, dict):
        named = {_plain(str(key)): part for key, part in value.items()}
        question = next((named[key] for key in named if key in _QUESTIONS), None)
        answer = next((named[key] for key in named if key in _ANSWERS), None)
        if isinstance(question, str) and isinstance(answer, str):
            yield from filter(None, [_pair(question, answer)])
        elif value and all(str(k).strip().endswith("?") for k in value):
            entries = ((str(k), v) for k, v in value.items() if isinstance(v, str))
            yield from filter(None, (_pair(q, a) for q, a in entries))
        else:
            for part in value.values():
                yield from _pairs_in(part, depth + 1)


def _pair(question: str, answer: str) -> QuestionAnswer | None:
    asked, answered = fold(_without_markup(question)), fold_lines(_without_markup(answer))
    return QuestionAnswer(asked, answered) if asked and answered else None


def _without_markup(text: str) -> str:
    if not _MARKUP.search(text):
        return text
    return "\n".join(block.all_text() for block in fragment_blocks(text))


def _plain(name: str) -> str:
    """A column's name in small letters, Turkish capitals included."""
    return fold(name).replace("İ", "i").replace("I", "ı" if "ANIT" in name else "i").lower()
