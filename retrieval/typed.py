"""What to embed for a question that was not typed the way documents are written.

An embedding model reads `SIPARIS` and `siparis` as other words than `sipariş`. Two habits cost it
most: typing in capitals and leaving the diacritics out. Both are undone from the agent's own
vocabulary (folded form → the form its documents use most), and only when the whole question is
typed so; any other question is returned unchanged, byte for byte. The lexical branch needs none of
this, its lexemes are folded.

A word that the documents do not hold is restored from its longest beginning that they do hold;
the suffix behind it follows vowel harmony. Question words, which answers rarely contain, have a
short list of their own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from ingestion.analysis.fold import fold, lower
from ingestion.analysis.tokens import WORD, Token, tokens

Lookup = Callable[[Sequence[str]], Mapping[str, str]]

_SHORTEST_BEGINNING = 4
_LONGEST = 40
_WITHOUT_DIACRITICS = frozenset({"en", "eu", "id", "nl"})
_LETTERS = re.compile(r"[^\W\d_]+")
_BACK, _FRONT = "aıou", "eiöü"
_QUESTION_WORDS = """
açabilir açık alabilir alabilirim almalıyım aşağıda başka bazı birçok böyle bugün çıkar çok çünkü
dışında değil değilse diğer dolayı düşük fazlası gün gerekiyor gerekli göre hangisi hiç için içinde
ilişkin işlem işlemi kaç kaçıncı kaçtır karşı kişi lazım lütfen mı mıdır mısın mısınız mıyım mıyız
mü müdür müsün müsünüz müyüm müyüz nasıl nasıldır niçin olduğu olduğunu olması olmalı öğrenebilirim
öğrenebilir önce özellikleri sırasında şey şu şimdi tarafından tüm uğradı üzere üzerinde vardır
yapabilirim yapılabilir yapılır yapmalıyım yapılmalı yaşında yılında yıl yılı yıllar
""".split()
_KNOWN = {fold(word): word for word in _QUESTION_WORDS}


def restore(question: str, lookup: Lookup, language: str = "tr") -> str:
    """The question as its documents would write it, or the very same string.

    `lookup` is called at most once, with folded forms, and returns the surface form of those that
    it knows.
    """
    capitals = _all_capitals(question)
    if not capitals and (not question.isascii() or language in _WITHOUT_DIACRITICS):
        return question
    if capitals and "İ" in question:
        return _rewrite(question, lambda word: lower(word, language))
    words = {fold(token.text) for token in _words(question)}
    known = {**lookup(sorted(_beginnings(words))), **_KNOWN}
    spelled = {word: _spelled(word, known, language) for word in words}
    if capitals:
        return _rewrite(question, lambda word: spelled[fold(word)])
    return _rewrite(question, lambda word: _cased_like(word, spelled[fold(word)]))


def _all_capitals(question: str) -> bool:
    """No small letter, and more of them than an acronym or a code would have."""
    words = [run for run in _LETTERS.findall(question) if len(run) > 1]
    shouted = all(word == word.upper() and word != word.lower() for word in words)
    return shouted and (len(words) > 1 or sum(map(len, words)) > 5)


def _words(question: str) -> Iterable[Token]:
    """The words that may be respelled: no codes, numbers or addresses."""
    for token in tokens(question):
        if token.kind == WORD and not any(map(str.isdigit, token.text)):
            for run in _LETTERS.finditer(token.text):
                yield Token(WORD, run.group(), token.start + run.start())


def _rewrite(question: str, spell: Callable[[str], str]) -> str:
    parts, end = [], 0
    for word in _words(question):
        parts += [question[end : word.start], spell(word.text)]
        end = word.start + len(word.text)
    return "".join([*parts, question[end:]])


def _beginnings(words: Iterable[str]) -> set[str]:
    """Every word and each of its beginnings that could be a word of its own."""
    return {
        word[:length]
        for word in words
        for length in (len(word), *range(_SHORTEST_BEGINNING, min(len(word), _LONGEST)))
    }


def _spelled(word: str, known: Mapping[str, str], language: str) -> str:
    if word in known:
        return known[word]
    if language != "tr":
        return word
    for length in range(min(len(word), _LONGEST) - 1, _SHORTEST_BEGINNING - 1, -1):
        if beginning := known.get(word[:length]):
            return _with_suffix(beginning, word[length:])
    return word


def _with_suffix(beginning: str, suffix: str) -> str:
    """`suffix` in full spelling: i/ı and u/ü by vowel harmony, ğ between vowels, -mIş with ş."""
    spelled = beginning
    for at, letter in enumerate(suffix):
        back = next(
            (vowel in _BACK for vowel in reversed(spelled) if vowel in _BACK + _FRONT), True
        )
        following = suffix[at + 1 : at + 2]
        if letter == "i" and back:
            letter = "ı"
        elif letter == "u" and not back:
            letter = "ü"
        elif letter == "g" and following and spelled[-1] in _BACK + _FRONT and following in "aeiu":
            letter = "ğ"
        elif letter == "s" and re.search("m[ıiuü]$", spelled) and following not in set("aeiu"):
            letter = "ş"
        spelled += letter
    return spelled


def _cased_like(typed: str, spelled: str) -> str:
    """`spelled` with the capitals of `typed`, letter by letter where they correspond."""
    if len(typed) != len(spelled):
        return spelled
    pairs = zip(typed, spelled, strict=True)
    return "".join(
        ("İ" if letter == "i" else letter.upper()) if mould.isupper() else letter
        for mould, letter in pairs
    )
