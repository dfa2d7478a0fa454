"""Two evaluations are compared question by question."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from retrieval.evaluation.compare import Change, circumstances, compare
from retrieval.evaluation.errors import BadFigures

BEFORE = {"q1": 1, "q2": 4, "q3": None, "q4": 2}
AFTER = {"q1": 3, "q2": 1, "q3": 8, "q4": None}


def figures(ranks: dict[str, int | None], **changed: Any) -> dict[str, Any]:
    results = {
        key: {"question": f"What is {key}?", "relevant": ["d"], "ranks": {"calibrated": rank}}
        for key, rank in ranks.items()
    }
    run = {"dataset": "tiny", "slice": "as typed", "default": "calibrated", "results": results}
    return {"runs": [{**run, "fusions": {"calibrated": {}}, **changed}]}


def test_every_question_whose_rank_changed_is_named_the_greatest_loss_first() -> None:
    (found,) = compare(figures(BEFORE), figures(AFTER))
    said = [(change.query, change.what) for change in found.changes]
    assert said == [
        ("q1", "moved down from 1 to 3"),
        ("q4", "lost, was 2"),
        ("q3", "won, is 8"),
        ("q2", "moved up from 4 to 1"),
    ]


def test_the_difference_is_paired() -> None:
    (found,) = compare(figures(BEFORE), figures(AFTER))
    assert (found.paired.wins, found.paired.losses, found.paired.ties) == (2, 2, 0)
    assert found.paired.difference == pytest.approx((1 / 3 - 1 + 0.75 + 1 / 8 - 0.5) / 4)
    assert found.paired.verdict == "tie"


def test_a_rank_beyond_ten_is_worth_nothing_but_its_move_is_told() -> None:
    (found,) = compare(figures({"q1": 12}), figures({"q1": None}))
    assert found.paired.ties == 1
    assert found.changes == (Change("q1", "What is q1?", 12, None),)


def test_what_was_otherwise_is_said_before_what_came_of_it() -> None:
    settings = {"semantic_weight": 0.7, "document_cap": 2}
    before = {**figures(BEFORE, language="tr", settings=settings), "space": "a/b/3"}
    after = {
        **figures(AFTER, language="en", settings={**settings, "document_cap": 1}),
        "space": "a/c/3",
    }
    assert list(circumstances(before, after)) == [
        "space: a/b/3 before, a/c/3 after",
        "tiny, language: tr before, en after",
        "tiny, document_cap: 2 before, 1 after",
    ]
    assert list(circumstances(before, before)) == []


def test_questions_that_only_one_asked_are_left_out_and_counted() -> None:
    other = figures({"q1": 1, "q2": 4, "q9": 1})
    other["runs"][0]["results"]["q2"]["question"] = "In other words?"
    (found,) = compare(figures(BEFORE), other)
    assert (found.questions, found.apart, found.changes) == (1, 4, ())


@pytest.mark.parametrize(
    "changed", [{"dataset": "other"}, {"slice": "capitals"}, {"fusions": {"rrf": {}}}]
)
def test_figures_that_share_nothing_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BadFigures):
        compare(figures(BEFORE), figures(AFTER, **changed))


def test_the_command_says_what_changed(tmp_path: Path) -> None:
    for name, ranks in (("a", BEFORE), ("b", AFTER)):
        (tmp_path / name).write_text(json.dumps(figures(ranks)))
    out = StringIO()
    call_command("evaluate", "--compare", str(tmp_path / "a"), str(tmp_path / "b"), stdout=out)
    assert "tiny, as typed, calibrated: 4 questions" in out.getvalue()
    assert "  q4: lost, was 2: What is q4?" in out.getvalue()


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (None, "No such file"),
        ("{", "is not JSON"),
        ("[]", "bad_figures"),
        ('{"runs": [{"results": {"q1": {}}}]}', "missing"),
    ],
)
def test_a_file_without_figures_is_refused(tmp_path: Path, text: str | None, reason: str) -> None:
    file = tmp_path / "a.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(CommandError, match=reason):
        call_command("evaluate", "--compare", str(file), str(file))
