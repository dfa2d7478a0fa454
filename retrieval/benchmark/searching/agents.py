"""One agent's line: whether its pool is full and right, and what a search of it costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from retrieval.benchmark.measure import Timing, in_turns
from retrieval.benchmark.searching.processor import processor_time
from retrieval.benchmark.searching.search import (
    bare_query,
    lexical_query,
    own_index_query,
    statement,
)
from retrieval.benchmark.searching.subject import QUESTIONS, Question, Subject
from retrieval.evaluation.progress import Tell
from retrieval.statement import candidates, find

OWN, SAME_WAY, LEXICAL = "own_index_top40", "vector_top40", "lexical_top40"
_COMPARED = (
    (SAME_WAY, OWN), (LEXICAL, OWN), ("statement", OWN), ("statement", SAME_WAY), ("common", OWN),
    ("common", SAME_WAY),
)  # fmt: skip


def figures(of: Subject, rounds: int, tell: Tell) -> dict[str, Any]:
    """Milliseconds of each branch and of the statement, and what they are times the bare
    queries. The lexical branch is asked for common words, its worst case."""
    operations = {
        OWN: own_index_query(of),
        SAME_WAY: bare_query(of),
        LEXICAL: lexical_query(of, of.common),
        "statement": statement(of, of.questions),
        "common": statement(of, of.common),
    }
    taken = in_turns(operations, rounds, tell)
    return {
        "passages": of.index.passages,
        **_against_exact(of),
        "p50_ms": taken["statement"].p50,
        "p95_ms": taken["statement"].p95,
        OWN: taken[OWN].as_dict(),
        SAME_WAY: taken[SAME_WAY].as_dict(),
        LEXICAL: taken[LEXICAL].as_dict(),
        "common_words": taken["common"].as_dict(),
        "ratios": {
            f"{name}_to_{bare}_{which}": ratio(taken, which, name, bare)
            for name, bare in _COMPARED
            for which in ("p50", "p95")
        },
        "processor_ms": processor_time(operations, min(rounds, QUESTIONS)),
    }


def statement_alone(of: Subject, rounds: int, tell: Tell) -> dict[str, Any]:
    """Only what tells how the statement's cost grows."""
    operations = {"statement": statement(of, of.questions)}
    taken = in_turns(operations, rounds, tell)
    return {
        "passages": of.index.passages,
        "p50_ms": taken["statement"].p50,
        "processor_ms": processor_time(operations, min(rounds, QUESTIONS)),
    }


def ratio(taken: Mapping[str, Timing], which: str, name: str, to: str) -> float:
    return round(float(getattr(taken[name], which) / getattr(taken[to], which)), 2)


def _against_exact(of: Subject) -> dict[str, Any]:
    """The route, the smallest pool, and what share of the true nearest the pools hold."""
    all_found = [_found(of, asked) for asked in of.questions]
    return {
        "route": "graph" if of.index.has_graph else "exact",
        "pool": min(one.pool for one in all_found),
        "recall_at_40": round(fmean(one.recall for one in all_found), 4),
        "own_index_recall_at_40": round(fmean(one.own_recall for one in all_found), 4),
        "refilled": sum(one.route not in ("graph", "exact") for one in all_found),
    }


@dataclass(frozen=True)
class _Found:
    pool: int
    recall: float
    own_recall: float
    route: str


def _found(of: Subject, asked: Question) -> _Found:
    found = find(of.index, asked.roots, asked.vector, of.settings)
    exact = candidates(of.index, (), asked.vector, of.settings, exact=True)
    truth = {row.passage_id for row in exact}
    brought = {row.passage_id for row in found.rows if row.semantic_rank is not None}
    own = truth.intersection(of.own_index.nearest(asked.vector))
    size = max(1, len(truth))
    return _Found(found.semantic, len(truth & brought) / size, len(own) / size, found.route)
