"""Languages by code, and the stems that each gives a word.

Turkish has rules of its own (`turkish.py`); the others use the Snowball stemmer of their name. A
stem is taken from the word as written and from its folded form, because people leave diacritics
out in every language.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from dolphy.errors import DolphyError
from ingestion.analysis.fold import fold
from ingestion.analysis.snowball import snowball
from ingestion.analysis.turkish import turkish_stems

_SNOWBALL = {
    "ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek",
    "en": "english", "eo": "esperanto", "es": "spanish", "et": "estonian", "eu": "basque",
    "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish", "hi": "hindi",
    "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian",
    "nb": "norwegian", "ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish",
    "pt": "portuguese", "ro": "romanian", "ru": "russian", "sr": "serbian", "sv": "swedish",
    "ta": "tamil", "yi": "yiddish",
}  # fmt: skip

LANGUAGES = ("tr", *sorted(_SNOWBALL))

Stems = Callable[[str], tuple[str, ...]]


class UnknownLanguage(DolphyError):
    """Dolphy has no analyser for this language."""

    code = "unknown_language"
    status = 400


@cache
def stemmer(language: str) -> Stems:
    """The function that gives a lower-cased word its folded stems, the best one first."""
    if language == "tr":
        return turkish_stems
    if language not in _SNOWBALL:
        raise UnknownLanguage(f"{language!r} is not one of {', '.join(LANGUAGES)}.")
    algorithm = _SNOWBALL[language]

    def stems(word: str) -> tuple[str, ...]:
        folded = fold(word)
        found = (fold(snowball(algorithm, spelling)) for spelling in (word, folded))
        return tuple(dict.fromkeys(stem or folded for stem in found))

    return stems
