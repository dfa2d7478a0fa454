"""docs/results.md is generated from figures, and keeps what others wrote into it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from retrieval.evaluation.losses import losses, places
from retrieval.evaluation.report import KEPT, table
from tests.retrieval.evaluation.conftest import CORPUS, QUERIES, Folder


@pytest.fixture
def made(db: None, folder: Folder, tmp_path: Path) -> Path:
    file = tmp_path / "docs" / "results.md"
    evaluate(folder, file)
    return file


def evaluate(folder: Folder, file: Path) -> None:
    words = [str(folder.path), "--slices", "--report", str(file)]
    call_command("evaluate", *words, stdout=StringIO())


def test_a_report_holds_every_fusion_slice_and_part(made: Path) -> None:
    text = made.read_text()
    for part in ("# Results", "## Overview", "## tiny", "## Latency", "## Where we lose"):
        assert f"{part}\n" in text
    for row in ("| calibrated |", "| rrf |", "| semantic |", "| lexical |", "| typing slip |"):
        assert row in text
    for title in KEPT.values():
        assert f"## {title}\n" in text
    assert "python manage.py evaluate DATASET... --slices --report FILE" in text


def test_a_report_holds_no_text_of_the_set_and_no_path(made: Path, folder: Folder) -> None:
    text = made.read_text()
    assert str(folder.path) not in text
    for row in (*CORPUS, *QUERIES):
        assert row["text"] not in text


def test_what_others_wrote_stays_when_the_report_is_renewed(made: Path, folder: Folder) -> None:
    mark = "<!-- keep: answerability -->\n"
    made.write_text(made.read_text().replace(mark, f"{mark}| peer | 0.5 |\n"))
    evaluate(folder, made)
    text = made.read_text()
    assert f"{mark}| peer | 0.5 |\n" in text
    assert text.count(mark) == 1


def result(rank: int | None, verdict: str = "kept", **ranks: int | None) -> dict[str, Any]:
    fate = {"verdict": verdict, "semantic_rank": None, "lexical_rank": None, **ranks}
    return {"ranks": {"calibrated": rank, "rrf": 1}, "fate": fate}


def a_run(*results: dict[str, Any]) -> dict[str, Any]:
    names = ("mrr@10", "hit@1", "hit@5", "hit@8", "recall@20")
    return {
        "slice": "as typed",
        "default": "calibrated",
        "questions": len(results),
        "results": {f"q{number}": found for number, found in enumerate(results)},
        "fusions": {
            "calibrated": dict.fromkeys(names, 0.5),
            "rrf": {
                **dict.fromkeys(names, 0.4),
                "hit@8": 0.6,
                "against_default": {"verdict": "loss"},
            },
        },
    }


def test_where_answers_stand_is_counted() -> None:
    found = places(
        a_run(
            result(1),
            result(8),
            result(9),
            result(None, "beyond_limit"),
            result(None, "duplicate"),
            result(None, "not_in_pool"),
        )
    )
    assert list(found.values()) == [1] * 6


def test_a_fusion_that_is_ahead_in_anything_is_named() -> None:
    (line,) = losses(a_run(result(1)))
    assert line == "`rrf` is ahead in hit@8 0.600 against 0.500; in mrr@10 a loss."


def test_answers_that_a_branch_had_first_are_counted() -> None:
    run = a_run(
        result(1, semantic_rank=1),
        result(2, semantic_rank=1, lexical_rank=1),
        result(3, lexical_rank=1),
        result(None, "not_in_pool"),
    )
    *_, line = losses(run)
    assert line.startswith("3 of 4 answers are not first")
    assert line.endswith(
        "the semantic branch had 1 of them first, the lexical branch 2, neither 1."
    )


def test_a_slice_that_loses_beyond_chance_is_named() -> None:
    change = {"difference": -0.2, "ci95": [-0.3, -0.1], "verdict": "loss", "wins": 1, "losses": 5}
    run = a_run(result(1)) | {"slice": "capitals"}
    run["fusions"]["calibrated"]["against_as_typed"] = change
    assert list(losses(run)) == [
        "capitals: -0.200 [-0.300, -0.100], 5 questions worse and 1 better."
    ]
    change["verdict"] = "tie"
    assert not list(losses(run))


def test_a_bar_in_a_cell_does_not_end_it() -> None:
    assert list(table(["a"], [["x|y"]])) == ["| a |", "| --- |", "| x\\|y |", ""]


def test_a_report_without_an_old_one_has_room_for_what_others_measure(made: Path) -> None:
    assert made.read_text().count("Not measured yet.") == len(KEPT)
