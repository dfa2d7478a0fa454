"""The words of a question: where they stand, how they are cased, and others in their places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ingestion.analysis.fold import APOSTROPHES
from ingestion.analysis.tokens import WORD, tokens

_LETTERS = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Word:
    """A run of letters that may be respelled; a `glued` one is the suffix behind an apostrophe."""

    text: str
    start: int
    glued: bool


def words_of(question: str) -> Iterator[Word]:
    """The words that may be respelled: no codes or numbers."""
    for token in tokens(question):
        if token.kind == WORD and not any(map(str.isdigit, token.text)):
            for run in _LETTERS.finditer(token.text):
                start = token.start + run.start()
                glued = start > 0 and question[start - 1] in APOSTROPHES
                yield Word(run.group(), start, glued)


def respelled(question: str, words: Sequence[Word], spelled: Sequence[str]) -> str:
    """The question with each of its words as `spelled` has it, in the same order."""
    parts, end = [], 0
    for word, spelling in zip(words, spelled, strict=True):
        parts += [question[end : word.start], spelling]
        end = word.start + len(word.text)
    return "".join([*parts, question[end:]])


def all_capitals(question: str) -> bool:
    """No small letter, and more of them than an acronym or a code would have."""
    words = [run for run in _LETTERS.findall(question) if len(run) > 1]
    shouted = all(word == word.upper() and word != word.lower() for word in words)
    return shouted and sum(map(len, words)) > 5


def is_bare(question: str) -> bool:
    """Without a letter that has a diacritic."""
    return not any(letter.isalpha() and not letter.isascii() for letter in question)


def upper(text: str, language: str) -> str:
    """In capitals, by the language's own rules (Turkish: i → İ)."""
    return (text.replace("i", "İ") if language == "tr" else text).upper()


def capitalised(text: str, language: str) -> str:
    return upper(text[:1], language) + text[1:]
