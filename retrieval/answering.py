"""Does the evidence answer at all? Judged on raw numbers, never on the fused score.

A fused score is relative to its pool: the best of a hopeless pool still gets a good one. The raw
cosine of the first evidence and the share of the question's idf that it covers mean the same for
every question of a space, so a threshold on them can be measured (`measured.py`).
"""

from __future__ import annotations

from typing import Any

from retrieval.measured import Answering


def judge(answering: Answering | None, trace: dict[str, Any]) -> dict[str, Any]:
    """`{"answers", "score", "threshold", "cosine", "coverage"}` of a retrieval's trace.

    `answers` is False without evidence, and None where the space has no measured threshold.
    """
    first = next((row for row in trace["candidates"] if row["rank"] == 1), None)
    if first is None:
        return {"answers": False}
    covered = coverage(trace["roots"], first["roots"])
    found = {"cosine": first["similarity"], "coverage": covered}
    if answering is None:
        return {"answers": None, **found}
    score = answering.score(first["similarity"], covered)
    threshold = answering.threshold
    return {"answers": score >= threshold, "score": score, "threshold": threshold, **found}


def coverage(roots: list[dict[str, Any]], present: list[int]) -> float:
    """Σ idf over the words present ÷ Σ idf over all words of the question, also those that no
    candidate holds (their df is 0); 0 without words. Idf as in the pool; pairs of words are left
    out, for a good answer may say the same in another order.
    """
    idf = [root["idf"] if root["weight"] == 1 else 0.0 for root in roots]
    return sum(idf[number] for number in present) / sum(idf) if sum(idf) else 0.0
