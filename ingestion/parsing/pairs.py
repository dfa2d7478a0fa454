"""Files of questions and answers: columns or keys that say so, in Turkish or English.

The pairs become curated answers; the same text is also given as headings and paragraphs, so that
it can be found like any other document. Markup inside an answer is read as HTML.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence

from .blocks import Block, BlockKind, QuestionAnswer, Reading
from .charset import decode
from .clean import fold, fold_lines, words
from .errors import BrokenFile, NoContent, TooComplex
from .html import fragment_blocks
from .limits import Limits

_QUESTIONS = words("question questions soru sorular q query başlık_soru")
_ANSWERS = words("answer answers cevap cevaplar yanıt yanıtlar yanit a response")
_MARKUP = re.compile(r"</?(?:p|br|ul|ol|li|b|strong|a|div|span|em|i|h\d)\b[^>]*>", re.I)
_MAX_DEPTH = 4


def read_json(data: bytes, limits: Limits) -> Reading:
    """Pairs in a JSON file: a list of objects, wherever it stands, or an object of texts."""
    text, charset = decode(data)
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    try:
        found = list(_pairs_in(json.loads(text), 0))
    except (ValueError, RecursionError) as error:
        raise BrokenFile("It is not valid JSON.") from error
    if not found:
        raise NoContent('A JSON file must list objects with "question" and "answer".')
    return Reading(pair_blocks(found), charset=charset, pairs=tuple(found))


def pairs_of_rows(rows: Sequence[Sequence[str]]) -> list[QuestionAnswer]:
    """Pairs of a table whose first row names a column of questions and one of answers."""
    names = [_plain(cell) for cell in rows[0]] if rows else []
    question = next((i for i, name in enumerate(names) if name in _QUESTIONS), None)
    answer = next((i for i, name in enumerate(names) if name in _ANSWERS), None)
    if question is None or answer is None:
        return []
    last = max(question, answer)
    cells = ((row[question], row[answer]) for row in rows[1:] if len(row) > last)
    return list(filter(None, (_pair(q, a) for q, a in cells)))


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
