"""Whether evidence answers is judged on raw numbers."""

from __future__ import annotations

from typing import Any

import pytest

from retrieval.answering import coverage, judge
from retrieval.measured import Answering
from retrieval.retrieve import retrieve
from tests.factories import World

RULE = Answering(threshold=0.9, coverage_weight=0.1)


def trace(similarity: float, present: list[int], **first: Any) -> dict[str, Any]:
    row = {"rank": 1, "similarity": similarity, "roots": present, "score": 1.0} | first
    roots = [{"idf": 3.0, "weight": 1.0}, {"idf": 1.0, "weight": 1.0}]
    return {"candidates": [row], "roots": roots}


def test_coverage_is_the_share_of_idf_and_counts_roots_that_nothing_holds() -> None:
    roots = [{"idf": 3.0, "weight": 1.0}, {"idf": 1.0, "weight": 1.0}]
    assert coverage(roots, [0]) == 0.75
    assert coverage(roots, []) == 0.0
    assert coverage([], []) == 0.0
    assert coverage([*roots, {"idf": 9.0, "weight": 0.4}], [0, 2]) == 0.75


@pytest.mark.parametrize(
    ("similarity", "present", "answers"),
    [
        (0.9, [], True),
        (0.89, [], False),
        (0.83, [0], True),
        (0.82, [0], False),
        (0.8, [0, 1], True),
    ],
)
def test_cosine_and_coverage_decide_together(
    similarity: float, present: list[int], answers: bool
) -> None:
    assert judge(RULE, trace(similarity, present))["answers"] is answers


def test_the_fused_score_does_not_matter() -> None:
    assert judge(RULE, trace(0.5, [], score=1.0))["answers"] is False


def test_no_evidence_does_not_answer_and_an_unmeasured_space_does_not_judge() -> None:
    assert judge(RULE, {"candidates": [], "roots": []}) == {"answers": False}
    assert judge(None, trace(0.99, [0, 1]))["answers"] is None


def test_a_question_about_something_else_is_not_answered(acme: World) -> None:
    assert retrieve(acme.agent, "İade süresi kaç gün?").answers is True
    assert retrieve(acme.agent, "Ay'a ilk kim ayak bastı?").answers is False
