"""Snowball stemmers, one a thread: they keep the word they are at in themselves."""

from __future__ import annotations

import threading

import snowballstemmer

_local = threading.local()


def snowball(algorithm: str, word: str) -> str:
    """The stem of a lower-cased word by the Snowball algorithm of that name."""
    stemmers = _local.__dict__
    if algorithm not in stemmers:
        stemmers[algorithm] = snowballstemmer.stemmer(algorithm)
    stem: str = stemmers[algorithm].stemWord(word)
    return stem
