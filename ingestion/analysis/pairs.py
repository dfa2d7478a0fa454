"""Neighbours: two meaningful words that stand next to each other, as one lexeme.

`kredi kartı` and `kartın kredisi` are the pair `karti+kredi`: stop words between do not count, nor
does the order, and a word is its first five letters, a code is whole. A passage that holds the pair
says more than one that holds both words somewhere; the pair's weight beside a single root's was
measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from ingestion.analysis.fold import fold
from ingestion.analysis.stopwords import stop_words
from ingestion.analysis.tokens import Token

PAIR_WEIGHT = 0.4
_PREFIX = 5
_LONGEST = 40


def neighbours(tokens: Iterable[Token], language: str) -> Iterator[tuple[str, Token, Token]]:
    """(lexeme, first, second) of every two meaningful tokens in a row."""
    last = ""
    before: Token | None = None
    for token in tokens:
        key = _key(token.text[:_LONGEST], language)
        if not key:
            continue
        if before is not None and last != key:
            yield f"{last}+{key}" if last < key else f"{key}+{last}", before, token
        last, before = key, token


@lru_cache(maxsize=32_768)
def _key(text: str, language: str) -> str:
    """What a word contributes to a pair; empty when it means nothing."""
    folded = fold(text.partition("'")[0].replace("-", ""))
    if folded in stop_words(language):
        return ""
    return folded[:_PREFIX] if folded.isalpha() else folded
