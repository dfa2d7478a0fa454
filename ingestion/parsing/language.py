"""Which language a text is in: Turkish, English, or unknown.

Counts the most common words of each language, and the letters that only Turkish has. It informs a
report; nothing is refused for it.
"""

from __future__ import annotations

import re

from .clean import words

_WORD = re.compile(r"[^\W\d_]+")
_SAMPLE = 20_000
_STOP_WORDS = {
    "tr": words(
        "ve bir bu için ile de da olarak olan veya daha en çok gibi kadar sonra her ne değil "
        "var yok ise mi mı mu mü ya göre şu siz size sizin biz nasıl hangi tüm eğer "
        "olur olup ancak içinde üzerinde edilir yapılır"
    ),
    "en": words(
        "the of and to in is a for that on with as are it be this by or from at your you we our "
        "can will not if an have has how what which please may must"
    ),
}
_TURKISH_LETTERS = frozenset("ğışĞİŞ")


def detect_language(text: str) -> str | None:
    """`tr`, `en`, or None when neither is clear. Reads at most the first 20,000 characters."""
    sample = text[:_SAMPLE]
    found = _WORD.findall(sample.replace("İ", "i").lower())
    if len(found) < 3:
        return None
    shares = {code: _share(found, stop) for code, stop in _STOP_WORDS.items()}
    turkish_letters = sum(map(sample.count, _TURKISH_LETTERS)) / len(sample)
    shares["tr"] += min(turkish_letters * 5, 0.3)
    best, other = sorted(shares, key=lambda code: -shares[code])
    return best if shares[best] >= 0.04 and shares[best] > 1.5 * shares[other] else None


def _share(found: list[str], stop: frozenset[str]) -> float:
    return sum(map(stop.__contains__, found)) / len(found)
