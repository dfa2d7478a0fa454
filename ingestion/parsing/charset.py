"""Bytes become text, with the name of the charset that was found.

Order of trust: a byte order mark, UTF-16 by its NUL pattern, valid UTF-8 (a stray NUL is damage and
says nothing of the charset), what the file declares (HTML, e-mail), then the Turkish charsets
scored by what they make of the bytes, and for scripts other than Latin what charset-normalizer
sees. Valid UTF-8 beats a declaration: a page that says iso-8859-9 but holds valid UTF-8 was saved
as UTF-8.

windows-1254 covers ISO-8859-9 and differs from windows-1252 in six letters only, so it is also the
right default for western European text. cp857 and mac-turkish are what Excel writes as "CSV
(MS-DOS)" and "CSV (Macintosh)".
"""

from __future__ import annotations

import codecs
import re
from functools import partial

from charset_normalizer import from_bytes

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_TURKISH = ("windows-1254", "cp857", "mac-turkish")
_PYTHON_NAMES = {"windows-1254": "cp1254", "mac-turkish": "mac_turkish"}
_SAMPLE = 200_000
_LETTER = r"[^\W\d_]"
# Alone, a letter of these is rather a sign that was read with the wrong code page.
_EXPECTED = re.compile(f"(?<={_LETTER})[çğıöşüÇĞİÖŞÜ]|[çğıöşüÇĞİÖŞÜ](?={_LETTER})")
_NEIGHBOURS = re.compile(f"(?<={_LETTER})[âîûéèêàäßñáíóú]|[âîûÂÎÛéèêàäßñáíóú](?={_LETTER})")
# Capital letters behind small ones are the mark of a wrong code page.
_ODD = re.compile("[a-zçğıöşü][ÇĞİÖŞÜÂÎÛ]")
_PUNCTUATION = re.compile("[€₺“”‘’–—…•«»°·©®™\xa0½²³№§]")


def decode(data: bytes, declared: str | None = None) -> tuple[str, str]:
    """`(text, charset)`. Never fails: bytes that fit nowhere become U+FFFD."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace"), name
    return _utf16(data) or _utf8(data) or _as_declared(data, declared) or _guess(data)


def _utf8(data: bytes) -> tuple[str, str] | None:
    """UTF-8, also when cut off or with a few broken bytes among many good sequences."""
    try:
        return data.decode("utf-8"), "utf-8"
    except UnicodeDecodeError:
        pass
    try:
        return _joined(data.decode("utf-8", "surrogatepass")), "utf-8"
    except UnicodeDecodeError:
        text = data.decode("utf-8", "replace")
    good = sum(1 for c in text if c > "\x7f" and c != "\ufffd")
    return (text, "utf-8") if good >= 10 * text.count("\ufffd") else None


def _joined(text: str) -> str:
    """The halves of emoji, as some databases write them, made whole; those left alone dropped."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")


def _utf16(data: bytes) -> tuple[str, str] | None:
    """UTF-16 without a mark: in Latin text every second byte is NUL."""
    even, odd = data[0:4000:2], data[1:4000:2]
    for zeros, others, name in ((odd, even, "utf-16-le"), (even, odd, "utf-16-be")):
        if zeros and zeros.count(0) > 0.6 * len(zeros) and others.count(0) < 0.05 * len(others):
            return data.decode(name, "replace"), name
    return None


def _as_declared(data: bytes, declared: str | None) -> tuple[str, str] | None:
    if not declared:
        return None
    try:
        name = codecs.lookup(declared.strip()).name
        # Browsers read the ISO label as the Windows charset, and pages are written for browsers.
        name = {"iso8859-1": "cp1252", "iso8859-9": "cp1254"}.get(name, name)
        return data.decode(name), _public_name(name)
    except (LookupError, UnicodeDecodeError, ValueError):
        return None


def _guess(data: bytes) -> tuple[str, str]:
    sample = data[:_SAMPLE]
    high = sum(byte > 0x7F for byte in sample)
    name = max(_TURKISH, key=partial(_score, sample))
    letters = high + sum(65 <= byte & 0xDF <= 90 for byte in sample)
    signs = len(_PUNCTUATION.findall(_as(name, sample)))
    if high > max(signs, 0.6 * letters):  # no text in Latin letters has so few plain ones
        found = from_bytes(sample, cp_exclusion=["utf_16", "utf_16_le", "utf_16_be"]).best()
        if found is not None:
            return data.decode(found.encoding, "replace"), _public_name(found.encoding)
    return _as(name, data), name


def _as(name: str, data: bytes) -> str:
    return data.decode(_PYTHON_NAMES.get(name, name), "replace")


def _score(sample: bytes, name: str) -> float:
    """How many of the bytes above ASCII become letters that Turkish or its neighbours write."""
    text = _as(name, sample)
    likely = len(_NEIGHBOURS.findall(text)) + len(_PUNCTUATION.findall(text))
    wrong = len(_ODD.findall(text)) + text.count("\ufffd")
    return len(_EXPECTED.findall(text)) + 0.5 * likely - 2 * wrong


def _public_name(python_name: str) -> str:
    name = codecs.lookup(python_name).name
    if name.startswith("cp125"):
        return f"windows-{name[2:]}"
    return name.replace("_", "-")
