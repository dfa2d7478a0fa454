"""Rank metrics of one question, from its evidence and the documents that answer it.

The ranks are those of the evidence, first is 1. The definitions are those of ir-measures: RR@10,
Success@k and R@20; the tests compare the two.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

MRR_DEPTH = 10
HITS = (1, 5, 8)
RECALL_DEPTH = 20
NAMES = (f"mrr@{MRR_DEPTH}", *(f"hit@{depth}" for depth in HITS), f"recall@{RECALL_DEPTH}")


def first_rank(ranking: Sequence[str], relevant: Collection[str]) -> int | None:
    """The rank of the first relevant document, or None."""
    return next((rank for rank, uri in enumerate(ranking, 1) if uri in relevant), None)


def reciprocal_rank(rank: int | None, depth: int = MRR_DEPTH) -> float:
    """1 / rank, or 0 when there is none within `depth`."""
    return 1 / rank if rank is not None and rank <= depth else 0.0


def recall(ranking: Sequence[str], relevant: Collection[str], depth: int = RECALL_DEPTH) -> float:
    """The share of the relevant documents among the first `depth`."""
    return len(set(ranking[:depth]) & set(relevant)) / len(relevant)


def of_question(ranking: Sequence[str], relevant: Collection[str]) -> dict[str, float]:
    """Every metric of one question, by name."""
    rank = first_rank(ranking, relevant)
    values = [
        reciprocal_rank(rank),
        *(float(rank is not None and rank <= depth) for depth in HITS),
        recall(ranking, relevant),
    ]
    return dict(zip(NAMES, values, strict=True))
