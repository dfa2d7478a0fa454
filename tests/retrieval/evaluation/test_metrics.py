"""Our metrics are those of ir-measures."""

from __future__ import annotations

import random

import ir_measures
import pytest
from ir_measures import RR, R, Success

from retrieval.evaluation import metrics

THEIRS = {
    "mrr@10": RR @ 10,
    "hit@1": Success @ 1,
    "hit@5": Success @ 5,
    "hit@8": Success @ 8,
    "recall@20": R @ 20,
}


@pytest.mark.parametrize("seed", range(20))
def test_metrics_of_random_runs_are_those_of_ir_measures(seed: int) -> None:
    chance = random.Random(seed)
    documents = [f"d{number}" for number in range(60)]
    runs, relevant = {}, {}
    for number in range(40):
        runs[f"q{number}"] = chance.sample(documents, chance.randint(1, 50))
        relevant[f"q{number}"] = set(chance.sample(documents, chance.randint(1, 6)))
    scored = {
        query: {uri: 1.0 - place / 100 for place, uri in enumerate(ranking)}
        for query, ranking in runs.items()
    }
    judged = {query: dict.fromkeys(uris, 1) for query, uris in relevant.items()}
    expected = {
        (item.query_id, str(item.measure)): item.value
        for item in ir_measures.iter_calc(THEIRS.values(), judged, scored)
    }
    for query, ranking in runs.items():
        ours = metrics.of_question(ranking, relevant[query])
        for name, measure in THEIRS.items():
            assert ours[name] == pytest.approx(expected[query, str(measure)], abs=1e-9), name


def test_every_metric_has_its_name() -> None:
    assert tuple(THEIRS) == metrics.NAMES


def test_no_evidence_is_worth_nothing() -> None:
    assert set(metrics.of_question([], {"d1"}).values()) == {0.0}


def test_a_document_found_twice_counts_at_its_first_place() -> None:
    found = metrics.of_question(["d2", "d1", "d1"], {"d1"})
    assert found["mrr@10"] == 0.5
    assert found["recall@20"] == 1.0
