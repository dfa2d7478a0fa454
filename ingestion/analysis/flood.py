"""A flood of combining marks, bounded before text is normalised.

Normalising sorts the marks behind a letter, in time that grows with the square of their number: a
file of nothing but accents would hold a worker for hours. No language writes more than a few of
them; Unicode's stream-safe format allows 30, and so does this.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

MOST_MARKS = 30
_FIRST, _END = 0x300, 0x20000  # no mark that is moved lies outside
# Found quickly, if any; ideographs and Hangul syllables are no marks.
_SUSPECT = re.compile(f"[^\0-\u02ff\u3400-\u9fff\uac00-\ud7a3]{{{MOST_MARKS + 1}}}")


def bounded_marks(text: str) -> str:
    """The text with at most `MOST_MARKS` combining marks in a row; the others are dropped."""
    if text.isascii() or not _SUSPECT.search(text):
        return text
    return _flood().sub(r"\1", text)


def normal(text: str) -> str:
    """NFC text, in time that grows with its length."""
    return text if text.isascii() else unicodedata.normalize("NFC", bounded_marks(text))


@cache
def _flood() -> re.Pattern[str]:
    marks = "".join(filter(_is_moved, map(chr, range(_FIRST, _END))))
    return re.compile(f"([{marks}]{{{MOST_MARKS}}})[{marks}]+")


def _is_moved(letter: str) -> bool:
    """Whether nothing in it keeps its place among the marks around it when they are sorted."""
    return all(map(unicodedata.combining, unicodedata.normalize("NFKD", letter)))
