"""Text becomes tokens: words, and the things that only look like several words.

A token is cut from clean text (see `fold.clean`) in one pass of one expression. Addresses, IBANs,
telephone numbers and numbers are recognised before words, so that their punctuation is not taken
for a boundary. Every repetition that could meet another is bounded, which keeps the pass linear on
hostile input. A suffix behind an apostrophe (`35.000'den`, `A.Ş.'nin`) belongs to no code; words
keep theirs. Most words are letters with a space or a comma behind them, which begin nothing else,
so they are looked for first, and what can begin no token is passed over at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Final, NamedTuple

from ingestion.analysis.fold import clean

WORD: Final = "word"
NUMBER: Final = "number"
PHONE: Final = "phone"
IBAN: Final = "iban"
EMAIL: Final = "email"
URL: Final = "url"
ACRONYM: Final = "acronym"

_MARK = "[\u0300-\u036f\u0591-\u05bd\u064b-\u065f\u0900-\u0903\u093a-\u094f\u0b82\u0bbe-\u0bcd]"
_PART = rf"[^\W_]+(?:{_MARK}+[^\W_]*)*"
_TOKEN = re.compile(
    rf"""
  (?=[^\W_]|[-+(])
  (?:
    (?P<plain>  [^\W\d_]++(?=[\s,;]) )
  |
  (?:
    (?P<email>  [A-Za-z0-9][A-Za-z0-9._%+-]{{0,63}}@[A-Za-z0-9-]{{1,63}}
                (?:\.[A-Za-z0-9-]{{1,63}}){{1,5}} )
  | (?P<url>    (?:https?://|www\.)[^\s<>"'|(){{}}\[\]]{{1,2000}}
              | (?:[A-Za-z0-9-]{{1,63}}\.){{1,5}}(?:com|net|org|edu|gov|info|io|tr|co|eu|uk|de)\b
                (?:\.[A-Za-z]{{2}}\b)?(?:/[^\s<>"'|(){{}}\[\]]{{0,2000}})? )
  | (?P<iban>   (?<![^\W_])(?:[A-Z]{{2}}\d{{2}}(?:[ ]?[A-Z0-9]{{4}}){{3,7}}(?:[ ]?[A-Z0-9]{{1,3}})?
              | [Tt][Rr]\d{{2}}(?:[ ]?\d{{4}}){{5}}[ ]?\d{{2}})(?![^\W_]) )
  | (?P<phone>  (?:\+\d{{1,3}}[ .-]?|\b0[ .-]?|\b90[ ])?\(?\b0?\d{{3}}\)?[ .-]?\d{{3}}
                [ .-]?(?:\d{{2}}[ .-]?\d{{2}}|\d[ .-]?\d{{3}})(?![\d.,]*\d)
              | \b444[ .-]?\d[ .-]?\d{{3}}(?!\d) )
  | (?P<number> (?<![^\W_])\d{{1,24}}(?:[.,:/]\d{{1,24}}){{1,8}} )
  | (?P<acronym>(?<![^\W_])(?:(?:[^\W\d_]\.){{1,8}}[^\W\d_](?![^\W_])\.?|(?:[^\W\d_]\.){{2,8}}) )
  ) (?:'[^\W\d_]{{1,10}})?
  | (?P<word>   {_PART}(?:['-]{_PART})* )
  )
    """,
    re.VERBOSE,
)
_KINDS = {"plain": WORD}


class Token(NamedTuple):
    """One piece of clean text: what kind it is, as written, and where it starts."""

    kind: str
    text: str
    start: int


_made = tuple.__new__  # what `Token(…)` comes to, without its detour: a page has hundreds


@lru_cache(maxsize=4)
def tokens_of(text: str) -> tuple[Token, ...]:
    """The tokens of a text as it was written; the last texts are remembered, since a passage is
    read for its lexemes and for its spellings."""
    return tuple(tokens(clean(text)))


def tokens(text: str) -> Iterator[Token]:
    """The tokens of clean text in order of appearance."""
    for match in _TOKEN.finditer(text):
        group = match.lastgroup or WORD
        yield _made(Token, (_KINDS.get(group, group), match[group], match.start()))
