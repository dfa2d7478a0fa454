"""Text as it leaves a file becomes text that can be stored, compared and shown.

Dropped: NUL and other control characters, bidi marks, zero-width spaces, soft hyphens and lone
surrogates. Kept: U+FFFD and private-use characters, because they are what `garble` counts. Joiners
(U+200C, U+200D) stay: emoji and Persian need them.
"""

from __future__ import annotations

import re

from ingestion.analysis.flood import normal

_LINE_BREAKS = re.compile("\r\n?|[\x0b\x0c\x85\u2028\u2029]")
_UNWANTED = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\u00ad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069"
    "\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff]"
)
_DROPPED_BLANKS = re.compile("[\x1c-\x1f]")  # white space to Python, dropped here
_BLANKS = re.compile(r"[^\S\n]+")


def strip_marks(text: str) -> str:
    """NFC text without control characters and invisible marks; line breaks become newlines."""
    if text.replace("\n", "").replace("\t", "").replace("\xa0", "").isprintable():
        return normal(text)
    return normal(_UNWANTED.sub("", _LINE_BREAKS.sub("\n", text)))


def fold(text: str) -> str:
    """One line of clean text: every run of white space is one space."""
    line = " ".join(text.split())
    if line.isprintable() and not _DROPPED_BLANKS.search(text):  # nearly every text is
        return normal(line)
    return " ".join(strip_marks(text).split())


def keep_lines(text: str) -> str:
    """Clean text whose lines and indentation stay, for code."""
    lines = [line.rstrip() for line in strip_marks(text).expandtabs(4).split("\n")]
    return "\n".join(lines).strip("\n")


def fold_lines(text: str) -> str:
    """Clean text whose line breaks stay but whose blanks are folded, for a table's cell."""
    lines = (_BLANKS.sub(" ", line).strip() for line in strip_marks(text).split("\n"))
    return "\n".join(line for line in lines if line)


def words(text: str) -> frozenset[str]:
    """The set of the words of a string: how this package writes its word lists."""
    return frozenset(text.split())
