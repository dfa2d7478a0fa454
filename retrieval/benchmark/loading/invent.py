"""Invented agents: texts in Zipf's words, vectors in clusters of a few latent dimensions.

Vectors of embedded text fill few of their dimensions and lie in clusters; noise in all dimensions
would make every index look bad and every exact scan look needed. The same seed gives the same.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dolphy.embedding import Vectors
from ingestion.analyse import Lexemes, analyse_passage

SYLLABLES = list(
    map("".join, zip(*[iter("kalemitoranusedaribotakeluyaşıgöüranelinoruşçeğa")] * 2, strict=True))
)
VOCABULARY, SENTENCES = 20_000, 20_000
WORDS_A_SENTENCE, SENTENCES_A_PASSAGE = 9, 9
LATENT, WITHIN, NOISE, NEAR = 24, 0.5, 0.3, 0.15
PASSAGES_A_CLUSTER = 50


@dataclass(frozen=True)
class Passage:
    text: str
    lexemes: Lexemes


class Inventor:
    """A source of passages, questions and vectors of one width."""

    def __init__(self, width: int, seed: int = 0) -> None:
        self._random = random.Random(seed)  # noqa: S311 (invents words, keeps no secret)
        self._numbers = np.random.default_rng(seed)
        self.width = width
        self._axes = self._numbers.standard_normal((LATENT, width))
        self.words = self._vocabulary()
        self._weights = list(itertools.accumulate(1 / (rank + 3) for rank in range(VOCABULARY)))
        self._sentences = [self._sentence() for _ in range(SENTENCES)]
        self._analysed: dict[str, Lexemes] = {}

    def _vocabulary(self) -> list[str]:
        lengths = (2, 3, 3, 4)
        found = dict.fromkeys(
            "".join(self._random.choices(SYLLABLES, k=self._random.choice(lengths)))
            for _ in range(VOCABULARY * 2)
        )
        return list(found)[:VOCABULARY]

    def some_words(self, count: int) -> list[str]:
        weights = self._weights[: len(self.words)]
        return self._random.choices(self.words, cum_weights=weights, k=count)

    def _sentence(self) -> str:
        return " ".join(self.some_words(WORDS_A_SENTENCE)).capitalize() + "."

    def text(self) -> str:
        """About 80 words."""
        return " ".join(self._some_sentences())

    def passage(self) -> Passage:
        """As `text`; its lexemes are those of its sentences, each of which is analysed once."""
        parts = self._some_sentences()
        lexemes = [self._lexemes_of(part) for part in parts]
        stemmed = set[str]().union(*(one.stemmed for one in lexemes))
        plain = set[str]().union(*(one.plain for one in lexemes))
        return Passage(" ".join(parts), Lexemes(tuple(sorted(stemmed)), tuple(sorted(plain))))

    def _some_sentences(self) -> list[str]:
        return self._random.choices(self._sentences, k=SENTENCES_A_PASSAGE)

    def _lexemes_of(self, sentence: str) -> Lexemes:
        known = self._analysed.get(sentence)
        if known is None:
            known = self._analysed[sentence] = analyse_passage(sentence)
        return known

    def question(self) -> str:
        """Six words as texts have them: some common, some rare."""
        return " ".join(self.some_words(6)) + "?"

    def common_question(self) -> str:
        """Six of the thirty most common words: the most that a lexical branch can meet."""
        return " ".join(self._random.sample(self.words[:30], 6)) + "?"

    def vectors(self, count: int) -> Vectors:
        """Unit vectors, shape (count, width)."""
        return np.concatenate(list(self.blocks(count, count)))

    def blocks(self, count: int, block: int) -> Iterator[Vectors]:
        """`count` unit vectors of one set of clusters, up to `block` at a time."""
        centres = self._numbers.standard_normal((max(4, count // PASSAGES_A_CLUSTER), LATENT))
        for start in range(0, count, block):
            size = min(block, count - start)
            chosen = self._numbers.integers(0, len(centres), size)
            latent = centres[chosen] + WITHIN * self._numbers.standard_normal((size, LATENT))
            yield self._noisy(latent @ self._axes, NOISE)

    def near(self, vectors: Vectors) -> Vectors:
        """Questions' vectors: each near one of these, as far as a question is from its answer."""
        spread = float(np.sqrt(LATENT)) * NEAR / float(np.sqrt(vectors.shape[1]))
        return self._noisy(vectors.astype(np.float64), spread)

    def _noisy(self, vectors: np.ndarray, spread: float) -> Vectors:
        noisy = vectors + spread * self._numbers.standard_normal(vectors.shape)
        return np.asarray(noisy / np.linalg.norm(noisy, axis=1, keepdims=True), np.float32)
