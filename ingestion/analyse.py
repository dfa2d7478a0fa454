"""The analyser: text becomes the lexemes that passages are indexed under and questions ask for.

One analyser writes both text-search columns and reads every question, so PostgreSQL's own parser
and its idea of `lower()` never meet the text. `stemmed` holds stems and prefixes by the agent's
language; `plain` holds words as typed, codes and numbers. Every lexeme is folded: case and
diacritics never decide whether a word is found. A passage stores the version that wrote it; change
what comes out of here and `ANALYSER_VERSION` goes up.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ingestion.analysis import codes
from ingestion.analysis.fold import clean, fold, lower
from ingestion.analysis.languages import UnknownLanguage, stemmer
from ingestion.analysis.pairs import PAIR_WEIGHT, neighbours
from ingestion.analysis.stopwords import stop_words
from ingestion.analysis.tokens import (
    ACRONYM,
    EMAIL,
    IBAN,
    NUMBER,
    PHONE,
    URL,
    WORD,
    Token,
    tokens_of,
)
from ingestion.analysis.vocabulary import count_surface_forms, surface_forms, words_of

__all__ = [
    "ANALYSER_VERSION",
    "Lexemes",
    "Root",
    "UnknownLanguage",
    "analyse_passage",
    "analyse_question",
    "count_surface_forms",
    "normalise",
    "question_pairs",
    "surface_forms",
    "words_of",
]

ANALYSER_VERSION = 1

_LONGEST_WORD = 60
_LONGEST_CODE = 10
_LONGEST_LEXEME = 255
_SURELY_SHORT = _LONGEST_LEXEME // 4  # a character has four bytes at most
_LETTERS = re.compile(r"[^\W_]+")
_AFTER_NUMBERS = """
a ar da daki dan de deki den e er i in inci incu lar ler li lik lu luk nci ncu nin nun si su ta tan
te ten un uncu unu ye ya yi yu yla yle
cm eur gb gr kg km lt mb ml mm tb tl try usd
"""
_NUMBER_SUFFIXES = frozenset(_AFTER_NUMBERS.split())


@dataclass(frozen=True, slots=True)
class Lexemes:
    """What a passage is indexed under; each tuple sorted and unique."""

    stemmed: tuple[str, ...]
    plain: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Root:
    """One meaningful word of a question.

    Present in a passage when any of `stemmed` is among its stemmed lexemes or any of `plain` among
    its plain ones. `weight` multiplies its idf: 1, or less for a pair of words.
    """

    surface: str
    stemmed: tuple[str, ...]
    plain: tuple[str, ...]
    weight: float = 1.0


def analyse_passage(text: str, language: str = "tr") -> Lexemes:
    """The lexemes of a passage, the pairs of its neighbouring words among the stemmed ones.

    Raises `UnknownLanguage`.
    """
    stemmer(language)
    found = tokens_of(text)
    stemmed = {lexeme for lexeme, _, _ in neighbours(found, language)}
    plain = {_joined_code(*two) for two in pairwise(found) if two[1].text[0].isdigit()}
    for kind, word in {(token.kind, token.text) for token in found}:
        forms = _passage_forms(kind, word, language)
        stemmed.update(forms.stemmed)
        plain.update(forms.plain)
    return Lexemes(_kept(stemmed), _kept(plain))


def analyse_question(text: str, language: str = "tr", *, limit: int = 32) -> tuple[Root, ...]:
    """The roots of a question in order of appearance, each once, at most `limit`.

    Stop words are dropped unless nothing else is left. Raises `UnknownLanguage`.
    """
    stemmer(language)
    stops = stop_words(language)
    meaningful: dict[tuple[str, ...], Root] = {}
    stopped: dict[tuple[str, ...], Root] = {}
    for token in tokens_of(text):
        for root in _question_roots(token.kind, token.text, language):
            found = stopped if root.plain[0] in stops else meaningful
            found.setdefault(root.stemmed or root.plain, root)
            if len(meaningful) >= limit:
                return tuple(meaningful.values())
    return tuple((meaningful or stopped).values())[:limit]


def question_pairs(text: str, language: str = "tr", *, limit: int = 16) -> tuple[Root, ...]:
    """The neighbouring meaningful words of a question as roots of less weight, at most `limit`."""
    stemmer(language)
    found: dict[str, Root] = {}
    for lexeme, first, second in neighbours(tokens_of(text), language):
        if len(found) >= limit:
            break
        surface = f"{first.text} {second.text}"
        found.setdefault(lexeme, Root(surface, (lexeme,), (), PAIR_WEIGHT))
    return tuple(found.values())


def normalise(text: str) -> str:
    """Text by which exact duplicates are known: case, spacing and punctuation do not count."""
    return " ".join(_LETTERS.findall(lower(clean(text), "tr")))


def _kept(lexemes: set[str]) -> tuple[str, ...]:
    """Sorted, within PostgreSQL's limits: no NUL (`clean` removed them), bounded bytes."""
    if max(map(len, lexemes), default=0) > _SURELY_SHORT:
        lexemes = {lexeme.encode()[:_LONGEST_LEXEME].decode(errors="ignore") for lexeme in lexemes}
    return tuple(sorted(filter(None, lexemes)))


def _joined_code(previous: Token, token: Token) -> str:
    """`TR 1234` is the code `tr1234` as well; empty when the two are not a code."""
    if previous.kind != WORD or token.kind != WORD:
        return ""
    letters, digits = previous.text, token.text.partition("'")[0]
    adjacent = token.start == previous.start + len(letters) + 1
    if adjacent and len(letters) <= _LONGEST_CODE and letters.isalpha() and digits.isdigit():
        return fold(letters + digits)
    return ""


@lru_cache(maxsize=32_768)
def _passage_forms(kind: str, text: str, language: str) -> Lexemes:
    if kind != WORD:
        whole = _code_forms(kind, text)
        parts = codes.address_parts(whole[0]) if kind in (EMAIL, URL) else ()
        stems = [stem for part in parts if part.isalpha() for stem in stemmer(language)(part)]
        extra = _code_parts(kind, text)
        return Lexemes(tuple(stems), (*whole, *parts, *extra))
    stemmed: list[str] = []
    plain: list[str] = []
    for word in _spellings(text, language):
        forms = _word_forms(word, language)
        stemmed.extend(forms.stemmed)
        plain.extend(forms.plain)
    return Lexemes(tuple(stemmed), tuple(plain))


def _code_forms(kind: str, text: str) -> tuple[str, ...]:
    """The equivalent spellings of a token that is no word."""
    return _CODES[kind](text)


def _code_parts(kind: str, text: str) -> tuple[str, ...]:
    """What a passage's number is also found by."""
    if kind == NUMBER:
        return codes.number_parts(text)
    return tuple(codes.runs(fold(text))) if kind in (PHONE, IBAN) else ()


_CODES: dict[str, Callable[[str], tuple[str, ...]]] = {
    NUMBER: codes.number,
    PHONE: codes.phone,
    IBAN: codes.iban,
    EMAIL: codes.email,
    URL: codes.url,
    ACRONYM: codes.acronym,
}


def _spellings(text: str, language: str) -> list[str]:
    """A passage's word under every spelling it may be asked for: joined, its base, its parts."""
    words = [text.replace("'", "").replace("-", ""), _base(text, language).replace("-", "")]
    for part in text.split("-"):
        words.append(part.replace("'", ""))
        words.append(_base(part, language))
    return list(dict.fromkeys(filter(None, words)))


def _base(word: str, language: str) -> str:
    """What an apostrophe belongs to: `Ankara'da` → `Ankara`, `l'eau` → `eau`."""
    parts = word.split("'")
    if language in ("fr", "it", "ca") and len(parts) > 1 and len(parts[0]) <= 2:
        return parts[1]
    return parts[0]


@lru_cache(maxsize=65_536)
def _word_forms(word: str, language: str) -> Lexemes:
    """Stems and plain forms of one word without apostrophes and hyphens."""
    word = lower(word[:_LONGEST_WORD], language)
    folded = fold(word)
    if folded.isdigit():
        return Lexemes((), codes.digits(folded))
    if any(map(str.isdigit, folded)):
        return Lexemes((), (folded, *codes.runs(folded)))
    if len(folded) < 2:
        return Lexemes((), (folded,))
    return Lexemes(stemmer(language)(word), (folded,))


def _question_roots(kind: str, text: str, language: str) -> Iterator[Root]:
    if kind != WORD:
        yield Root(text, (), _code_forms(kind, text))
        return
    parts = text.split("-")
    if len(parts) > 1 and all(_stands_alone(part) for part in parts):
        for part in parts:
            yield from _word_root(part, language)
    else:
        yield from _word_root(text, language)


def _stands_alone(part: str) -> bool:
    """`eğitim-öğretim` and `2023-2024` are two words; `e-posta` and `TR-1234` are one."""
    return (len(part) > 2 and part.partition("'")[0].isalpha()) or (
        part.isdigit() and len(part) > 1
    )


def _word_root(text: str, language: str) -> Iterator[Root]:
    base = _base(text.replace("-", ""), language)
    folded = fold(base)
    if not folded:
        return
    if any(map(str.isdigit, folded)):
        yield Root(text, (), _code_question(folded))
        return
    whole = _word_forms(text.replace("'", "").replace("-", ""), language)
    forms = _word_forms(base, language)
    yield Root(text, forms.stemmed, tuple(dict.fromkeys((*forms.plain, *whole.plain))))


def _code_question(folded: str) -> tuple[str, ...]:
    """A question's code as typed; `1326da` and `35tl` ask for their number as well."""
    if folded.isdigit():
        return codes.digits(folded)[-1:]
    number, *rest = codes.runs(folded)
    if number.isdigit() and len(rest) == 1 and rest[0] in _NUMBER_SUFFIXES:
        return (codes.digits(number)[-1], folded)
    return (folded,)
