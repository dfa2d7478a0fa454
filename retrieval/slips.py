"""Slips of the finger: a word that no document holds, read as the one that was meant.

Two slips are put right: neighbouring letters swapped (`karog`), and a letter doubled (`kaargo`).
Looked at are words of five to forty letters of which the agent's vocabulary has nothing: not the
word, not its first five letters, not its stem. It is read as another word only if the documents
hold that one whole.

A question typed properly must be embedded as typed, so nothing is put right that a word of Turkish
might be. A letter left out or added often makes another word there, whose suffixes are often one
letter (`taşıdım`, `taksidim`), and so do the last two letters swapped (`metni`, `metin`). What was
measured is in `docs/measured-and-rejected.md`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ingestion.analysis.fold import fold
from ingestion.analysis.languages import stemmer
from ingestion.analysis.stopwords import stop_words
from ingestion.analysis.vocabulary import beginning
from retrieval import typed

_SHORTEST, _LONGEST = 5, 40
_MOST = 3  # more unknown words are another language, or another agent's question


class Words(Protocol):
    """The words and beginnings that the documents hold, by folded form (`vocabulary.py`)."""

    def known(self, folded: Collection[str]) -> Collection[str]: ...
    def counts(self, folded: Collection[str]) -> Mapping[str, int]: ...
    def spellings(self, folded: Collection[str]) -> Mapping[str, str]: ...


@dataclass(frozen=True, slots=True)
class Slip:
    """A word as typed and as meant, spelled as the documents do."""

    typed: str
    meant: str


def find(question: str, vocabulary: Words, language: str = "tr") -> tuple[Slip, ...]:
    """The slips of a question, in order of appearance."""
    unknown = _unknown(question, vocabulary, language)
    if not 0 < len(unknown) <= _MOST:
        return ()
    edits = {word: set(_edits(fold(word))) for word in unknown}
    held = vocabulary.counts({edit for of in edits.values() for edit in of})
    known = {**dict.fromkeys(typed.question_words(language), 0), **held}
    meant = {word: _commonest(of, known) for word, of in edits.items() if of & known.keys()}
    spelled = typed.spellings(list(meant.values()), vocabulary.spellings, language) if meant else {}
    return tuple(Slip(word, spelled[folded]) for word, folded in meant.items())


def _unknown(question: str, vocabulary: Words, language: str) -> list[str]:
    """Words of which the documents hold nothing, and that are no question words either."""
    words = {word.text: fold(word.text) for word in typed.words_of(question) if not word.glued}
    stems, common = stemmer(language), typed.question_words(language).keys() | stop_words(language)
    forms = {
        word: {folded, beginning(folded, _SHORTEST), *stems(folded)}
        for word, folded in words.items()
        if _SHORTEST <= len(folded) <= _LONGEST and folded not in common
    }
    known = set(vocabulary.known({form for of in forms.values() for form in of}))
    known.update(typed.question_words(language))
    return [word for word, of in forms.items() if known.isdisjoint(of)]


def _edits(word: str) -> Iterator[str]:
    """What a word is without the slip that it may hold, long enough to be sure of. The first letter
    is right."""
    for n in range(1, len(word) - 2):
        if word[n] != word[n + 1]:
            yield word[:n] + word[n + 1] + word[n] + word[n + 2 :]
    for n in range(1, len(word)):
        if word[n] == word[n - 1] and len(word) > _SHORTEST:
            yield word[:n] + word[n + 1 :]


def _commonest(words: Collection[str], held: Mapping[str, int]) -> str:
    return min((-held[word], word) for word in words if word in held)[1]


def put_right(question: str, slips: Sequence[Slip], language: str) -> str:
    """The question with its slips put right, and not a byte else changed."""
    meant = {fold(slip.typed): slip.meant for slip in slips}
    return typed.replaced(question, meant, language) if meant else question
