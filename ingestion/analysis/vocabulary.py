"""How the documents spell: what a folded word, or the beginning of one, looks like in full.

An agent keeps these pairs with their counts; a question typed without diacritics or in capitals is
respelled from them (`retrieval.typed`). A beginning is keyed with a hyphen behind it (`yukse-` →
`yükse`), so that it is never taken for a word: most words of a question occur in the documents only
with another suffix.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from ingestion.analysis.fold import fold, lower
from ingestion.analysis.tokens import WORD, tokens_of

BEGINNINGS = range(3, 7)
_LONGEST_WORD = 60


def surface_forms(text: str, language: str = "tr") -> Iterator[tuple[str, str]]:
    """(folded, surface) of every word of a text, and of its beginnings in Turkish.

    Surface is in the language's lower case. A word that holds digits is left out, and so is one in
    capitals: `SIPARIS` and `IBAN` do not say how they are spelled.
    """
    for token in tokens_of(text):
        if token.kind == WORD:
            for part in token.text.split("-"):
                word = part.partition("'")[0]
                if word.isalpha() and not _shouted(word) and len(word) <= _LONGEST_WORD:
                    yield from _pairs(lower(word, language), language)


def beginning(folded: str, length: int) -> str:
    """The key of the first `length` letters of a folded word."""
    return folded[:length] + "-"


@lru_cache(maxsize=100_000)
def _pairs(surface: str, language: str) -> tuple[tuple[str, str], ...]:
    folded = fold(surface)
    if language != "tr" or len(folded) != len(surface):
        return ((folded, surface),)
    lengths = (length for length in BEGINNINGS if length <= len(surface))
    return (folded, surface), *((beginning(folded, n), surface[:n]) for n in lengths)


def _shouted(word: str) -> bool:
    return len(word) > 1 and word.isupper()
