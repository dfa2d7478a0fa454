"""Slices: the same questions as people type them.

Each slice is a pure function of the question and its language; the typing slip is drawn from the
question itself, so it is the same slip in every run.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable

from ingestion.analysis.fold import APOSTROPHES

AS_TYPED = "as typed"
SEED = "slip"
LONG_WORD = 5
_WORDS = re.compile(rf"[^\W\d_]{{{LONG_WORD},}}")
_WITHOUT = str.maketrans("ıİ", "iI")
_NO_APOSTROPHES = str.maketrans("", "", APOSTROPHES)


def without_diacritics(text: str, language: str) -> str:
    """`Şifremi` → `Sifremi`; case stays."""
    parts = unicodedata.normalize("NFD", text.translate(_WITHOUT))
    return unicodedata.normalize("NFC", "".join(p for p in parts if not unicodedata.combining(p)))


def in_capitals(text: str, language: str) -> str:
    """In the casing of the language: Turkish `iade` → `İADE`."""
    return (text.replace("i", "İ") if language == "tr" else text).upper()


def in_capitals_without_diacritics(text: str, language: str) -> str:
    return without_diacritics(in_capitals(text, language), language)


def without_apostrophes(text: str, language: str) -> str:
    """`Ankara'da` → `Ankarada`."""
    return text.translate(_NO_APOSTROPHES)


def with_a_slip(text: str, language: str) -> str:
    """One letter of one longer word swapped with its neighbour, dropped or doubled; never its
    first letter. A question without such a word stays as it is."""
    chance = random.Random(f"{SEED}:{text}")  # noqa: S311 (a typing slip is no secret)
    words = list(_WORDS.finditer(text))
    if not words:
        return text
    word = chance.choice(words)
    slip = chance.choice((_swap, _drop, _double))
    return text[: word.start()] + slip(word.group(), chance) + text[word.end() :]


def _swap(word: str, chance: random.Random) -> str:
    places = [at for at in range(1, len(word) - 1) if word[at] != word[at + 1]]
    if not places:
        return _drop(word, chance)
    at = chance.choice(places)
    return word[:at] + word[at + 1] + word[at] + word[at + 2 :]


def _drop(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    return word[:at] + word[at + 1 :]


def _double(word: str, chance: random.Random) -> str:
    at = chance.randrange(1, len(word))
    return word[: at + 1] + word[at:]


SLICES: dict[str, Callable[[str, str], str]] = {
    "no diacritics": without_diacritics,
    "capitals": in_capitals,
    "capitals, no diacritics": in_capitals_without_diacritics,
    "no apostrophes": without_apostrophes,
    "typing slip": with_a_slip,
}
