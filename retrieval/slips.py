"""Slips of the finger: a word that no passage holds, read as the one that was meant.

Two slips of a Turkish question are put right: a vowel and a consonant beside it swapped (`krago`),
and a letter doubled (`karggo`). Looked at are words of five to forty letters that lead nowhere: the
vocabulary has not the word, its first five letters or its stem, and no passage holds any form of
it. Such a word is read as another only if the documents hold that one whole, with the same first
letter.

A question typed properly must be embedded as typed, so what a word of Turkish may be is left alone:
letters left out or added (one letter is often a suffix: `taşıdım`, `taksidim`), two consonants
swapped (`haklı`, `halkı`), the last two letters swapped (`metni`, `metin`), and letters doubled as
Turkish doubles them (`bassın`, `saatin`). So are other languages, where the same slips make words
(`trial`, `trail`). What was measured is in `docs/measured-and-rejected.md`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ingestion.analyse import Root, analyse_question
from ingestion.analysis.fold import fold, lower
from ingestion.analysis.languages import stemmer
from ingestion.analysis.stopwords import stop_words
from ingestion.analysis.vocabulary import beginning
from retrieval.typed import question_words
from retrieval.vocabulary import Held
from retrieval.words import Word, all_capitals, capitalised, is_bare, respelled, upper, words_of

_LANGUAGE = "tr"
_SHORTEST, _LONGEST = 5, 40
_MOST = 3  # more unknown words are another language, or another agent's question
_VOWELS = frozenset("aeıioöuüâîû")
_NAME_OR_ADDRESS = re.compile(r"[_@#]|\w\.\w")


class Words(Protocol):
    """What the agent's documents hold (`vocabulary.py`)."""

    def known(self, folded: Collection[str]) -> Collection[str]: ...
    def held(self, folded: Collection[str]) -> Mapping[str, Held]: ...
    def found(self, roots: Sequence[Root]) -> Sequence[bool]: ...


@dataclass(frozen=True, slots=True)
class Slip:
    """A word as typed and as it is read."""

    typed: str
    meant: str


def slips_in(question: str, words: Words, language: str = _LANGUAGE) -> tuple[Slip, ...]:
    """The slips of a question, each word once, in order of appearance."""
    if language != _LANGUAGE:
        return ()
    unknown = _unknown(question, words)
    if not 0 < len(unknown) <= _MOST:
        return ()
    edits = {folded: set(_edits(folded)) for folded in unknown}
    held = words.held({edit for of in edits.values() for edit in of})
    meant = {folded: _commonest(of, held) for folded, of in edits.items() if of & held.keys()}
    bare = is_bare(question)  # else its diacritics were typed, and tell words apart
    return tuple(
        Slip(unknown[folded], word.folded if bare else word.surface)
        for folded, word in _nowhere(meant, words).items()
        if bare or word.surface in _edits(lower(unknown[folded], language))
    )


def _unknown(question: str, words: Words) -> dict[str, str]:
    """Words of which the vocabulary has nothing, folded, with the way they were first typed."""
    common = question_words(_LANGUAGE).keys() | stop_words(_LANGUAGE)
    looked_at: dict[str, str] = {}
    for word in _plain_words(question):
        folded = fold(word.text)
        if _SHORTEST <= len(folded) == len(word.text) <= _LONGEST and folded not in common:
            looked_at.setdefault(folded, word.text)
    stems = stemmer(_LANGUAGE)
    forms = {word: {word, beginning(word, _SHORTEST), *stems(word)} for word in looked_at}
    known = {*words.known({form for of in forms.values() for form in of}), *common}
    return {word: looked_at[word] for word, of in forms.items() if known.isdisjoint(of)}


def _plain_words(question: str) -> Iterator[Word]:
    """No part of an address or a user's name, no acronym and no brand with capitals inside."""
    shouted = all_capitals(question)
    runs = [match.span() for match in re.finditer(r"\S+", question)]
    names = {at for run in runs if _NAME_OR_ADDRESS.search(question, *run) for at in range(*run)}
    for word in words_of(question):
        rest = word.text[1:]
        cased = shouted or rest == lower(rest, _LANGUAGE)
        if cased and not word.glued and word.start not in names:
            yield word


def _nowhere(meant: Mapping[str, Held], words: Words) -> dict[str, Held]:
    """Without the words that a passage holds in any form: those need no reading."""
    found = words.found([analyse_question(folded)[0] for folded in meant]) if meant else ()
    pairs = zip(meant.items(), found, strict=True)
    return {folded: word for (folded, word), is_found in pairs if not is_found}


def _edits(word: str) -> Iterator[str]:
    """What a word is without the slip that it may hold."""
    vowels = [letter in _VOWELS for letter in word]
    for n in range(1, len(word) - 2):
        if vowels[n] != vowels[n + 1]:
            yield word[:n] + word[n + 1] + word[n] + word[n + 2 :]
    for n in range(1, len(word)):
        if word[n] == word[n - 1] and len(word) > _SHORTEST and _never_doubled(word, n):
            yield word[:n] + word[n + 1 :]


def _never_doubled(word: str, n: int) -> bool:
    """Whether no Turkish word doubles the letter that ends at `n`: a consonant beside another one,
    or a vowel other than those of `saat` and `şiir`, and those not before two consonants."""
    before, after = word[n - 2 : n - 1], word[n + 1 : n + 3]
    cluster = len(after) == 2 and not _VOWELS.intersection(after)
    if word[n] in _VOWELS:
        return word[n] not in "aiı" or cluster
    return bool(before and before not in _VOWELS) or bool(after and after[0] not in _VOWELS)


def _commonest(words: Collection[str], held: Mapping[str, Held]) -> Held:
    """The one that most documents hold; of equal ones the first in the alphabet."""
    candidates = [held[word] for word in words if word in held]
    return min(candidates, key=lambda one: (-one.documents, one.folded))


def put_right(question: str, slips: Sequence[Slip], language: str = _LANGUAGE) -> str:
    """The question with its slips put right, and not a byte else changed."""
    if not slips:
        return question
    meant = {fold(slip.typed): slip.meant for slip in slips}
    words = [word for word in _plain_words(question) if fold(word.text) in meant]
    spelled = [_cased_like(word.text, meant[fold(word.text)], language) for word in words]
    return respelled(question, words, spelled)


def _cased_like(typed: str, meant: str, language: str) -> str:
    if typed.isupper():
        return meant.upper() if typed.isascii() else upper(meant, language)
    return capitalised(meant, language) if typed[:1].isupper() else meant
