"""The command: from datasets and questions to figures, and what it refuses."""

from __future__ import annotations

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from retrieval.evaluation import run as asking
from retrieval.evaluation import scratch
from retrieval.evaluation.dataset import Dataset
from retrieval.evaluation.slices import SLICES
from tenants.models import Agent, Tenant
from tests.factories import World, make_document
from tests.retrieval.evaluation.conftest import CORPUS, QUERIES, Folder

pytestmark = pytest.mark.django_db
FUSIONS = ["calibrated", "rrf", "semantic", "lexical"]


def evaluate(*words: object) -> str:
    out = StringIO()
    call_command("evaluate", *map(str, words), stdout=out)
    return out.getvalue()


def refusal(*words: object) -> str:
    with pytest.raises(CommandError) as caught:
        evaluate(*words)
    return str(caught.value)


def runs(file: Path) -> list[dict[str, Any]]:
    return json.loads(file.read_text())["runs"]


def test_every_fusion_is_measured_and_the_scratch_tenant_is_gone(
    folder: Folder, tmp_path: Path
) -> None:
    shown = evaluate(folder.path, "--json", tmp_path / "a.json")
    (run,) = runs(tmp_path / "a.json")
    assert run["dataset"] == "tiny"
    assert (run["questions"], run["skipped"], run["slice"]) == (3, 1, "as typed")
    assert list(run["fusions"]) == FUSIONS
    calibrated = run["fusions"]["calibrated"]
    assert calibrated.keys() >= {"mrr@10", "hit@1", "hit@5", "hit@8", "recall@20", "p50_ms"}
    assert calibrated["recall@20"] == 1.0
    low, high = calibrated["ci95"]
    assert 0 <= low <= calibrated["mrr@10"] <= high <= 1
    assert 0 < calibrated["p50_ms"] <= calibrated["p95_ms"]
    assert run["fusions"]["rrf"]["against_default"].keys() >= {"wins", "losses", "ties", "ci95"}
    assert run["results"]["q2"]["ranks"]["lexical"] == 1
    assert "tiny, as typed: 3 questions, 4 passages in tr, 1 more have no known answer" in shown
    assert not Tenant.objects.exists()


def test_a_trace_is_written_for_each_question(folder: Folder, tmp_path: Path) -> None:
    evaluate(folder.path, "--traces", tmp_path / "t.jsonl", "--fusion", "rrf,calibrated")
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert [line["query"] for line in lines] == ["q1", "q2", "q3"]
    assert lines[2]["history"] == QUERIES[2]["history"]
    assert lines[1]["trace"]["settings"]["fusion"] == "calibrated"
    assert lines[1]["relevant"] == ["kargo"]
    place = lines[1]["rankings"]["rrf"].index("kargo")
    assert lines[1]["ranks"]["rrf"] == place + 1


def test_slices_are_asked_again_and_set_against_as_typed(folder: Folder, tmp_path: Path) -> None:
    shown = evaluate(folder.path, "--slices", "--json", tmp_path / "a.json")
    found = {run["slice"]: run for run in runs(tmp_path / "a.json")}
    assert list(found) == ["as typed", *SLICES]
    assert found["no diacritics"]["results"]["q1"]["question"] == "Iade suresi kac gun?"
    assert found["no apostrophes"]["changed"] == 1
    assert "against_as_typed" in found["capitals"]["fusions"]["rrf"]
    assert "against_as_typed" not in found["as typed"]["fusions"]["rrf"]
    assert "typing slip" in shown


def test_settings_reach_the_retrieval(folder: Folder, tmp_path: Path) -> None:
    words = ["--set", "semantic_weight=0.7", "--set", "semantic_depth=3", "--set", "language=en"]
    evaluate(folder.path, *words, "--traces", tmp_path / "t.jsonl")
    trace = json.loads((tmp_path / "t.jsonl").read_text().splitlines()[0])["trace"]
    settings = trace["settings"]
    assert (settings["semantic_weight"], settings["lexical_weight"]) == (0.7, 0.3)
    assert trace["pool"]["semantic"] == 3


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        ("depth=3", "There is no setting 'depth'"),
        ("semantic_weight", "say name=value"),
        ("semantic_weight=much", "semantic_weight=much"),
        ("semantic_weight=1.5", "less than or equal to 1"),
        ("semantic_weight=nan", "semantic_weight=nan"),
        ("semantic_depth=0", "greater than or equal to 1"),
        ("language=xx", "no analyser"),
        ("strongest_document_cap=1", "agent_caps_are_bounded"),
    ],
)
def test_a_setting_that_cannot_be_is_refused(folder: Folder, setting: str, reason: str) -> None:
    assert reason in refusal(folder.path, "--set", setting)
    assert not Tenant.objects.exists()


def test_a_setting_given_twice_is_refused(folder: Folder) -> None:
    words = ["--set", "semantic_depth=3", "--set", "semantic_depth=4"]
    assert "set twice" in refusal(folder.path, *words)


def test_an_unknown_fusion_is_refused(folder: Folder) -> None:
    assert "unknown_fusion" in refusal(folder.path, "--fusion", "calibrated,best")


def test_a_bad_dataset_among_good_ones_loads_nothing(
    folder: Folder, another: Callable[[str], Folder], monkeypatch: pytest.MonkeyPatch
) -> None:
    bad = another("bad")
    bad.corpus([*CORPUS, {"_id": "x", "text": ""}])
    monkeypatch.setattr(scratch, "loaded", lambda *words: pytest.fail("something was loaded"))
    assert "corpus.jsonl:5: 'x': text is empty" in refusal(folder.path, bad.path)


def test_datasets_and_an_agent_do_not_go_together(folder: Folder) -> None:
    assert "bad_dataset" in refusal(folder.path, "--agent", "acme/help", "--questions", "q.csv")
    assert "bad_dataset" in refusal()
    assert "bad_dataset" in refusal("--agent", "acme/help")


def test_a_run_that_is_stopped_leaves_nothing(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*words: Any, **more: Any) -> None:
        assert Tenant.objects.filter(name=scratch.NAME).exists()
        raise KeyboardInterrupt

    monkeypatch.setattr(asking, "retrieve", stop)
    assert "Stopped" in refusal(folder.path)
    assert not Tenant.objects.exists()


def test_what_was_measured_before_a_run_was_stopped_is_kept(
    folder: Folder,
    another: Callable[[str], Folder],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = scratch.loaded

    def stop_at_the_second(dataset: Dataset, *more: Any) -> Any:
        if dataset.name == "second":
            raise KeyboardInterrupt
        return whole(dataset, *more)

    monkeypatch.setattr(scratch, "loaded", stop_at_the_second)
    words = [folder.path, another("second").path, "--json", tmp_path / "a.json"]
    assert "Stopped" in refusal(*words)
    assert [run["dataset"] for run in runs(tmp_path / "a.json")] == ["tiny"]


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_asked(
    folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "retrieve", lambda *words: pytest.fail("something was asked"))
    assert "cannot be written" in refusal(folder.path, "--json", tmp_path)


def test_only_the_first_questions_are_asked_under_a_limit(folder: Folder, tmp_path: Path) -> None:
    evaluate(folder.path, "--limit", 2, "--json", tmp_path / "a.json")
    assert list(runs(tmp_path / "a.json")[0]["results"]) == ["q1", "q2"]
    assert "bad_setting" in refusal(folder.path, "--limit", 0)


def test_the_same_evaluation_has_the_same_figures(folder: Folder, tmp_path: Path) -> None:
    for name in ("a.json", "b.json"):
        evaluate(folder.path, "--json", tmp_path / name)
    shown = evaluate("--compare", tmp_path / "a.json", tmp_path / "b.json")
    assert shown.count("+0.000 [+0.000, +0.000] tie (0 won, 0 lost, 3 tied)") == len(FUSIONS)


# An agent's own questions


def questions(tmp_path: Path, *lines: str, encoding: str = "utf-8") -> Path:
    file = tmp_path / "questions.csv"
    file.write_bytes("".join(line + "\r\n" for line in lines).encode(encoding))
    return file


def test_an_agent_answers_its_own_questions(acme: World, tmp_path: Path) -> None:
    make_document(acme.agent, "magaza.md", ["Mağazalarımız pazar günü kapalıdır."], title="Mağaza")
    file = questions(
        tmp_path,
        "document,question,note",
        "iade.md,İade süresi kaç gün?,a",
        "Mağaza,Pazar açık mı?,",
    )
    words = ["--agent", "acme/help", "--questions", file, "--json", tmp_path / "a.json"]
    evaluate(*words, "--set", "semantic_depth=7")
    (run,) = runs(tmp_path / "a.json")
    assert run["dataset"] == "acme/help questions"
    assert run["settings"]["semantic_depth"] == 7
    assert run["results"]["q2"]["relevant"] == ["magaza.md"]
    assert run["fusions"]["calibrated"]["hit@1"] == 1.0
    assert Agent.objects.get(pk=acme.agent.pk).semantic_depth == 40


def test_a_spreadsheet_in_windows_letters_and_semicolons_is_read(
    acme: World, tmp_path: Path
) -> None:
    file = questions(
        tmp_path, "Question;Document", "İade süresi kaç gün?;iade.md", encoding="cp1254"
    )
    evaluate("--agent", "acme/help", "--questions", file, "--json", tmp_path / "a.json")
    assert runs(tmp_path / "a.json")[0]["results"]["q1"]["question"] == "İade süresi kaç gün?"


def test_the_agents_own_fusion_is_the_default(acme: World, tmp_path: Path) -> None:
    Agent.objects.filter(pk=acme.agent.pk).update(fusion="rrf")
    file = questions(tmp_path, "question,document", "İade süresi?,iade.md")
    evaluate("--agent", "acme/help", "--questions", file, "--json", tmp_path / "a.json")
    assert runs(tmp_path / "a.json")[0]["default"] == "rrf"


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (["question,answer", "Ne?,iade.md"], ":1: the columns must be question and document"),
        (["question,document", "İade?,yok.md"], ":2: acme/help has no enabled document 'yok.md'"),
        (["question,document", "???,iade.md"], ":2: The question holds no letter"),
        (["question,document", "İade?"], ":2: acme/help has no enabled document ''"),
        (["question,document"], "holds no questions"),
        (["question,document", "İade?,magaza.md"], ":2: acme/help has no enabled document"),
    ],
)
def test_bad_questions_are_named_by_their_line(
    acme: World, tmp_path: Path, lines: list[str], reason: str
) -> None:
    file = questions(tmp_path, *lines)
    assert reason in refusal("--agent", "acme/help", "--questions", file)


def test_a_title_that_two_documents_share_is_refused(acme: World, tmp_path: Path) -> None:
    for uri in ("a.md", "b.md"):
        make_document(acme.agent, uri, [f"{uri} metni."], title="Aynı")
    file = questions(tmp_path, "question,document", "Ne?,Aynı")
    message = refusal("--agent", "acme/help", "--questions", file)
    assert "2 documents are called 'Aynı'" in message


def test_an_agents_language_cannot_be_set(acme: World, tmp_path: Path) -> None:
    file = questions(tmp_path, "question,document", "İade?,iade.md")
    words = ["--agent", "acme/help", "--questions", file, "--set", "language=en"]
    assert "bad_setting" in refusal(*words)


def test_an_unknown_agent_and_a_missing_file_are_refused(acme: World, tmp_path: Path) -> None:
    assert "not_found" in refusal("--agent", "acme/none", "--questions", tmp_path / "q.csv")
    assert "Missing" in refusal("--agent", "acme/help", "--questions", tmp_path / "q.csv")
