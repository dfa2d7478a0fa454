"""Turkish stems: Snowball's, repaired where it is known to be wrong, and a prefix beside them.

A stem is a function of the folded word, so it is the same however the word is typed. That costs
Snowball some vowel harmony, and measures no worse than stemming the word as written. Three repairs:
the possessive -sI leaves its s (`iadesi` → `iades`); short words lose too much (`oda` → `o`, which
collides with the pronoun; `kartı` → `kar`); and short roots are not reached at all (`evde`,
`geliyor`), so the commonest ones stand here with the suffixes that they take. The first five
letters stand beside the stem, because Turkish words share their beginning even where a rule misses
the suffix.
"""

from __future__ import annotations

import re
from functools import lru_cache

from ingestion.analysis.fold import fold
from ingestion.analysis.snowball import snowball

PREFIX = 5
_SHORTEST = 3
_VOWELS = frozenset("aeiou")
_SOFT_G = re.compile(r"(?<=..[aeiou])g[aeiu]?$")  # the ğ of `çocuğu`, a k in `çocuk`

_NOUNS = """
adim adres alan banka beden bilgi borc cihaz dava depo ders dil ev fatura fiyat form goz gun hesab
hesap hizmet iade iban kargo kart kod konu kredi kupon kural kutu limit link marka masa mesaj model
musteri oda odeme paket para plan program proje puan renk reng resim saat saha sayfa sepet servis
sinif sira sirket site soru sube sure sut tablo talep taleb tarih taksit tutar ulke urun vergi
yas yil yol
"""
_VERBS = """
ara bas bekle bul cek cik dog don gec gel gir gonder gor iste kal kaydet kes kur ode ogren oku sat
sec sil sor tut unut uye ver yap yaz yukle
"""

_CASE = "[yn]?[iuae]|n?[iu]n|n?[dt][ae]n?|y?l[ae]|c[ae]"
_NOUN_ENDING = re.compile(
    "(?:l[ae]r)?(?:[iu]?m[iu]z|[iu]?n[iu]z|[iu]?m|[iu]?n|s?[iu]|l[ae]r[iu])?"
    f"(?:{_CASE})?(?:ki(?:l[ae]r)?(?:n?[iu]n|n?[iuae]|n?d[ae]n?)?)?(?:[dt][iu]r)?$"
)
_VERB_ENDING = re.compile(
    "(?:y?[ae]bil|y?[ae]m[ae]|[iu]?n|[iu]l|m[ae])?"
    "(?:m[ae]k|m[ae]|[iu]yor|y?[ae]c[ae][kg]|[ae]r|[iu]r|r|d[iu]|t[iu]|m[iu]s|m[ae]l[iu]|s[ae]|y?[iu]p"
    "|d[iu][kg]|t[iu][kg])"
    "(?:[iu]m|[iu]z|s[iu]n|s[iu]n[iu]z|n[iu]z|m|n|k|l[ae]r|[iu]n[iu]z)?"
    "(?:[dt][iu]r|d[iu]|s[ae]|l[ae]r)?$"
)
_ROOTS = {
    **dict.fromkeys(_NOUNS.split(), _NOUN_ENDING),
    **dict.fromkeys(_VERBS.split(), _VERB_ENDING),
}
_SOFTENED = {"hesab": "hesap", "reng": "renk", "taleb": "talep"}
_LONGEST_ROOT = max(map(len, _ROOTS))


def turkish_stems(word: str) -> tuple[str, ...]:
    """The stem of a word, folded or not, and its first five letters; both folded."""
    return _stems(fold(word))


@lru_cache(maxsize=32_768)
def _stems(folded: str) -> tuple[str, ...]:
    stem = _root(folded) or _repaired(snowball("turkish", folded), folded)
    return tuple(dict.fromkeys((stem, folded[:PREFIX])))


def _root(folded: str) -> str:
    """The common root whose suffixes explain the whole rest of the word, or nothing."""
    for length in range(min(len(folded), _LONGEST_ROOT), 1, -1):
        root = folded[:length]
        if root in _ROOTS and _ROOTS[root].match(folded, length):
            return _SOFTENED.get(root, root)
    return ""


def _repaired(stem: str, folded: str) -> str:
    stem = _SOFT_G.sub("k", fold(stem))
    following = folded[len(stem) : len(stem) + 1]
    if (
        len(stem) > _SHORTEST
        and stem[-1] == "s"
        and stem[-2] in _VOWELS
        and following in ("i", "u")
    ):
        stem = stem[:-1]
    return stem if len(stem) >= min(_SHORTEST, len(folded)) else folded
