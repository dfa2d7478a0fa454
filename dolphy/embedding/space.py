"""What an embedding space is, and what every embedder promises."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from dolphy.errors import DolphyError, Unavailable

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Space:
    """Provider, model, dimensions and revision. Two spaces never share a search."""

    provider: str
    model: str
    dimensions: int
    revision: str = ""

    def __str__(self) -> str:
        name = f"{self.provider}/{self.model}/{self.dimensions}"
        return f"{name}@{self.revision}" if self.revision else name


class EmbedderUnavailable(Unavailable):
    """The embedder does not answer; try again later."""

    code = "embedder_unavailable"

    def __init__(self, detail: str = "", *, wait: float = 0.0) -> None:
        """`wait`: seconds for which it asks to be left alone."""
        super().__init__(detail)
        self.wait = wait


class SpaceNotServed(Unavailable):
    """The embedding space of this agent is not the one that this installation embeds with."""

    code = "space_not_served"


class BadVectors(DolphyError):
    """The embedder returned vectors that cannot be used."""

    code = "bad_vectors"
    status = 502


class TextsRefused(BadVectors):
    """The embedder refused some of the texts."""

    code = "texts_refused"
    status = 422

    def __init__(self, vectors: Vectors, refused: Mapping[int, str]) -> None:
        """`vectors`: shape (texts, dimensions), zeros where refused; `refused`: reason by place."""
        super().__init__("; ".join(sorted(set(refused.values())))[:500])
        self.vectors = vectors
        self.refused = dict(refused)


class Embedder(Protocol):
    """Texts to vectors, in one space. Passages and questions may be embedded differently."""

    space: Space
    max_tokens: int
    batch: int

    def count_tokens(self, text: str) -> int:
        """Tokens of `text` as a passage, or an estimate that is not too low."""
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Shape (len(texts), dimensions). Raises `TextsRefused` when some cannot be embedded."""
        ...

    def embed_question(self, text: str) -> Vectors:
        """Shape (dimensions,)."""
        ...


def checked(vectors: Vectors, space: Space, count: int) -> Vectors:
    """The same vectors, or `BadVectors`: wrong shape, NaN, zeros, or not of unit length (±2%)."""
    if vectors.shape != (count, space.dimensions):
        raise BadVectors(f"Expected {(count, space.dimensions)}, got {vectors.shape} in {space}.")
    if not np.isfinite(vectors).all():
        raise BadVectors(f"Some numbers are not finite in {space}.")
    lengths = np.linalg.norm(vectors, axis=1)
    if (lengths < 1e-6).any():
        raise BadVectors(f"A vector is all zeros in {space}.")
    if (abs(lengths - 1) > 0.02).any():
        raise BadVectors(f"A vector has length {lengths.max():.3f}, not 1, in {space}.")
    return vectors
