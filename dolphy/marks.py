"""Marks: characters that show nothing, or turn what is shown around.

Control characters, zero-width and direction marks, and halves of a pair (what Python makes of bytes
that are not UTF-8, and JSON of a lone `\\ud800`), which neither a database nor an answer can hold.
"""

from __future__ import annotations

import codecs
import unicodedata

CONTROL, FORMAT, HALF = "Cc", "Cf", "Cs"


def without_marks(text: str) -> str:
    """The text without the characters that show nothing."""
    return "".join(ch for ch in text if unicodedata.category(ch) not in {CONTROL, FORMAT, HALF})


def is_text(text: str) -> bool:
    """Whether a database can hold it: no NUL, and no half of a pair."""
    return not any(ch == "\0" or unicodedata.category(ch) == HALF for ch in text)


def sayable(value: object) -> object:
    """The same value, its texts with halves of a pair written out, so that it can be sent."""
    if isinstance(value, str):
        return spelt(value)
    if isinstance(value, dict):
        return {sayable(name): sayable(held) for name, held in value.items()}
    if isinstance(value, list | tuple):
        return [sayable(held) for held in value]
    return value


def spelt(text: str) -> str:
    """The text with halves of a pair written out: `\\ud800`."""
    return text.encode("utf-8", "backslashreplace").decode()


def is_utf8(charset: str) -> bool:
    """Whether this names UTF-8, or the part of it that is ASCII."""
    try:
        return codecs.lookup(charset).name in {"utf-8", "ascii"}
    except (LookupError, ValueError):
        return False
