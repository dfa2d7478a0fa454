"""How the documents spell: what a folded word, or the beginning of one, looks like in full.

An agent keeps these pairs with their counts; a question typed without diacritics or in capitals is
respelled from them (`retrieval.typed`). A beginning is keyed with a hyphen behind it (`yukse-` →
`yükse`), so that it is never taken for a word: most words of a question occur in the documents only
with another suffix.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
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
            for surface in _spelled(token.text, language):
                yield from _pairs(surface, language)


def words_of(text: str) -> list[str]:
    """The words of a text as `count_surface_forms` wants them counted."""
    return [token.text for token in tokens_of(text) if token.kind == WORD]


def count_surface_forms(words: Mapping[str, int], language: str = "tr") -> Counter[tuple[str, str]]:
    """What `surface_forms` yields for texts of these words, counted. A word is looked at once,
    however often it stands there."""
    surfaces: Counter[str] = Counter()
    for word, count in words.items():
        for surface in _spelled(word, language):
            surfaces[surface] = surfaces.get(surface, 0) + count
    pairs: Counter[tuple[str, str]] = Counter()
    for surface, count in surfaces.items():
        for pair in _pairs(surface, language):
            pairs[pair] = pairs.get(pair, 0) + count
    return pairs


def beginning(folded: str, length: int) -> str:
    """The key of the first `length` letters of a folded word."""
    return folded[:length] + "-"


def _spelled(text: str, language: str) -> tuple[str, ...]:
    remembered = _surfaces if len(text) <= _LONGEST_WORD else _surfaces.__wrapped__
    return remembered(text, language)


@lru_cache(maxsize=32_768)
def _surfaces(text: str, language: str) -> tuple[str, ...]:
    """What a token teaches of spelling: its parts in lower case, without their suffixes."""
    words = (part.partition("'")[0] for part in text.split("-"))
    return tuple(
        lower(word, language)
        for word in words
        if word.isalpha() and not _shouted(word) and len(word) <= _LONGEST_WORD
    )


@lru_cache(maxsize=100_000)
def _pairs(surface: str, language: str) -> tuple[tuple[str, str], ...]:
    folded = fold(surface)
    if language != "tr" or len(folded) != len(surface):
        return ((folded, surface),)
    lengths = (length for length in BEGINNINGS if length <= len(surface))
    return (folded, surface), *((beginning(folded, n), surface[:n]) for n in lengths)


def _shouted(word: str) -> bool:
    return len(word) > 1 and word.isupper()
