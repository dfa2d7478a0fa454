"""Neighbours: two meaningful words that stand next to each other, as one lexeme.

`kredi kartı` and `kartın kredisi` are the pair `karti+kredi`: stop words between do not count, nor
does the order, and a word is its first five letters, a code is whole. A passage that holds the pair
says more than one that holds both words somewhere; the pair's weight beside a single root's was
measured.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ingestion.analysis.fold import fold
from ingestion.analysis.stopwords import stop_words
from ingestion.analysis.tokens import Token

PAIR_WEIGHT = 0.4
_PREFIX = 5
_LONGEST = 40


def neighbours(tokens: Iterable[Token], language: str) -> Iterator[tuple[str, Token, Token]]:
    """(lexeme, first, second) of every two meaningful tokens in a row."""
    stops = stop_words(language)
    before: tuple[str, Token] | None = None
    for token in tokens:
        folded = fold(token.text[:_LONGEST].partition("'")[0].replace("-", ""))
        if not folded or folded in stops:
            continue
        key = folded[:_PREFIX] if folded.isalpha() else folded
        if before is not None and before[0] != key:
            yield "+".join(sorted((before[0], key))), before[1], token
        before = key, token
