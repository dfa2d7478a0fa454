"""Turkish stems: Snowball's, repaired where it is known to be wrong, and a prefix beside them.

Snowball needs diacritics for its vowel harmony, so a word is stemmed as written and folded; both
stems are kept. Two repairs: the possessive -sI leaves its s (`iadesi` → `iades`), and short words
lose too much (`oda` → `o`, which collides with the pronoun). The first five letters stand beside
the stem, because Turkish words share their beginning even where a rule misses the suffix.
"""

from __future__ import annotations

import snowballstemmer

from ingestion.analysis.fold import fold

PREFIX = 5
_SHORTEST = 3
_VOWELS = frozenset("aeiou")
_snowball = snowballstemmer.stemmer("turkish")


def turkish_stems(word: str) -> tuple[str, ...]:
    """Folded stems of a lower-cased word: as written, as typed without diacritics, first five."""
    folded = fold(word)
    found = [_repaired(fold(_snowball.stemWord(spelling)), folded) for spelling in (word, folded)]
    return tuple(dict.fromkeys([*found, folded[:PREFIX]]))


def _repaired(stem: str, folded: str) -> str:
    following = folded[len(stem) : len(stem) + 1]
    if (
        len(stem) > _SHORTEST
        and stem[-1] == "s"
        and stem[-2] in _VOWELS
        and following in ("i", "u")
    ):
        stem = stem[:-1]
    return stem if len(stem) >= min(_SHORTEST, len(folded)) else folded
