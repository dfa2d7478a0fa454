"""How much of a text cannot be right: lost characters, wrong charsets, fonts without a mapping.

Nothing is repaired: a guess would be quoted to customers as the business's own words. Counted:

- U+FFFD and private-use characters ("sipari\ufffd"),
- UTF-8 read as a Windows charset ("sipariÅŸ", "Ã¼cret"),
- windows-1254 read as windows-1252 ("sipariþ", "daðýtým"), unless the text has the vowels of
  Icelandic or Czech, where these letters are at home,
- UTF-8 read as an MS-DOS code page ("sipari┼ş", "├╝cret"), and not the lines of a drawn table,
- signs and question marks inside words ("da§it", "ma?aza"),
- longer words without a vowel, which is what a font with shifted codes yields ("VLSDULV").

On good Turkish, English, German and Czech text the ratio stays under 0.005. The same Turkish text
read with a wrong charset gives 0.05 to 0.25, a shifted font 0.3 and more. `THRESHOLD` lies
between; a page that quotes a garbled word or two stays below it.
"""

from __future__ import annotations

import re

THRESHOLD = 0.03

_FEW, _SHORT, _ENOUGH = 5, 10, 100

_LOST = re.compile("[\ufffd\ue000-\uf8ff\U000f0000-\U0010ffff]")
_UTF8_AS_WINDOWS = re.compile("[ÃÄÅÂ][\x80-\xbfŒœŠšŸŽžƒˆ˜–—‘’‚“”„†‡•…‰‹›€™ŞşİıĞğ]|â€.?|ï»¿")
# The first byte of a letter is a line or a corner there. Drawings have none of them right behind a
# word, then another letter or a corner that cannot follow.
_UTF8_AS_DOS = re.compile(
    r"(?<=[^\W\d_])(?:[┬├┼](?:[^\W\d_]|[£©¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐¢¥º¿])|─(?:[^\W\d_]|[░▒▓º¿]))+"
    "|[├┼][╝╢╖╣║╗£º]|─[░▒]"
)
_TURKISH_AS_WESTERN = re.compile("(?<=[^\\W\\d_])[þðýÞÐÝ]|[þðýÞÐÝ](?=[^\\W\\d_])")
_AT_HOME = re.compile("[æáúóíůěřÁÚÓÍ]")
_SIGN_INSIDE = re.compile(
    "(?<=[^\\W\\d_])[§¦¨¤¶¬¼½¾¿¡±®©‡†‰■÷≡ⁿ▌▐▄╨╓╟](?=[^\\W\\d_])"
    # A question mark before a capital is one whose space was forgotten.
    "|(?<=[^\\W\\d_])\\?(?=[a-zçğıöşü])"
)
_IN_ADDRESS = re.compile(r"://|www\.|[=&/]\w")
_WORD = re.compile(r"[A-Za-zÀ-ſ]{5,}")
_VOWEL = re.compile("[aeiouyâàáäãåæeèéêëěiìíîïıİoòóôöõøuùúûüůýAEIOUYÂÀÁÄÃÅÆÈÉÊËĚÌÍÎÏÒÓÔÖÕØÙÚÛÜŮÝ]")
_LONG_CONSONANTS = re.compile("[bcçdfgğhjklmnpqrsştvwxzBCÇDFGĞHJKLMNPQRSŞTVWXZ]{6,}")


def garble_ratio(text: str) -> float:
    """Wrong characters over all characters that are not white space, 0..1."""
    pieces = text.split()
    visible = sum(map(len, pieces))
    if not visible:
        return 0.0
    prose = _without_addresses(pieces)
    return min(1.0, (_marks(text, prose) + _impossible_words(prose)) / visible)


def _marks(text: str, prose: str) -> int:
    wrong = len(_LOST.findall(text)) + sum(map(len, _UTF8_AS_WINDOWS.findall(text)))
    wrong += sum(map(len, _UTF8_AS_DOS.findall(text)))
    if not text.isascii() and not _AT_HOME.search(text):
        wrong += len(_TURKISH_AS_WESTERN.findall(text))
    return wrong + len(_SIGN_INSIDE.findall(prose))


def _impossible_words(prose: str) -> int:
    """Characters in words of five letters or more that no European language could pronounce.

    A handful of them are abbreviations and addresses ("XHTML"), not a garbled text.
    """
    words = _WORD.findall(prose)
    if _poor_in_vowels(words):
        return sum(map(len, words))
    impossible = {word for word in set(words) if _impossible(word)}
    found = [word for word in words if word in impossible]
    few = len(impossible) < _FEW and (len(words) < _SHORT or len(found) < 0.5 * len(words))
    return 0 if few else sum(map(len, found))


def _without_addresses(pieces: list[str]) -> str:
    """The text without web addresses, whose signs and abbreviations mean nothing here."""
    text = " ".join(pieces)
    kept, place = [], 0
    while found := _IN_ADDRESS.search(text, place):
        kept.append(text[place : max(place, text.rfind(" ", place, found.start()) + 1)])
        end = text.find(" ", found.end())
        place = end + 1 if end >= 0 else len(text)
    return "".join((*kept, text[place:]))


def _poor_in_vowels(words: list[str]) -> bool:
    """European languages write 35 to 48 vowels in 100 letters; a shifted font leaves about 20."""
    letters = "".join(words)
    return len(letters) >= _ENOUGH and len(_VOWEL.findall(letters)) < 0.27 * len(letters)


def _impossible(word: str) -> bool:
    return not _VOWEL.search(word) or bool(_LONG_CONSONANTS.search(word))
