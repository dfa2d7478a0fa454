"""Letters, made comparable.

Three depths, each a pure function of the text and linear in its length:

- `clean`: the same text in one spelling: NFC, one apostrophe, one hyphen, no invisible characters;
- `lower`: clean text in lower case, by the language's own rules (Turkish: I → ı, İ → i);
- `fold`: what every lexeme is made of. Case, diacritics and the dot of the i are gone, so that
  `SİPARİŞ`, `SIPARIS`, `sipariş` and `siparis` are one word, and the casing rule that the writer's
  keyboard followed no longer matters.

Marks are dropped where they are accents (Latin, Greek, Cyrillic, Arabic, Hebrew) and kept where
they are vowels (Devanagari, Tamil).
"""

from __future__ import annotations

import re
import unicodedata

from ingestion.analysis.flood import normal

APOSTROPHES = "'’‘‛`´ʼʻʹ′＇ꞌ"
HYPHENS = "-‐‑‒–—−﹣－"
INVISIBLE = "\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff\u202a\u202b\u202c\u202d\u202e"

_CLEAN = str.maketrans(
    {
        **dict.fromkeys(APOSTROPHES, "'"),
        **dict.fromkeys(HYPHENS, "-"),
        **dict.fromkeys(INVISIBLE, None),
        **dict.fromkeys(map(chr, range(32)), " "),
        "\u00a0": " ",
        "\u202f": " ",
        "\x7f": " ",
    }
)
_KEPT = "'-"
_UNCLEAN = re.compile(f"[{re.escape(''.join(chr(c) for c in _CLEAN if chr(c) not in _KEPT))}]")
_SPELLED_OUT = {
    "ı": "i", "ß": "ss", "æ": "ae", "œ": "oe", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ł": "l",
}  # fmt: skip
_ACCENTS = re.compile("[\u0300-\u036f\u0483-\u0487\u0591-\u05c7\u064b-\u065f\u0670]")
_FLOOD = re.compile("([\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f]{4})"
                    "[\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u064b-\u065f]+")  # fmt: skip


def clean(text: str) -> str:
    """NFC text with one apostrophe and one hyphen, control characters as spaces.

    Runs of combining marks are cut to four first: normalising sorts them, in quadratic time.
    """
    if not text.isascii():
        text = normal(_FLOOD.sub(r"\1", text))
    text = text.replace("\n", " ")
    return text.translate(_CLEAN) if _UNCLEAN.search(text) else text


def lower(text: str, language: str) -> str:
    """Lower case by the rules of `language`; `i̇` never appears."""
    if language == "tr":
        text = text.replace("I", "ı").replace("İ", "i")
    return text.lower().replace("i\u0307", "i")


class _Folds(dict[int, str]):
    """Code point → its folded spelling, worked out the first time a letter is seen."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if letter.isdecimal():
            folded = str(unicodedata.decimal(letter))
        else:
            bare = _ACCENTS.sub("", unicodedata.normalize("NFKD", letter)).lower()
            folded = "".join(_SPELLED_OUT.get(part, part) for part in _ACCENTS.sub("", bare))
            folded = unicodedata.normalize("NFC", folded)
        self[code] = folded
        return folded


_FOLDS = _Folds()


def fold(text: str) -> str:
    """Lower case without diacritics: `Şubesı`, `ŞUBESİ` and `subesi` are all `subesi`."""
    return text.translate(_FOLDS)
