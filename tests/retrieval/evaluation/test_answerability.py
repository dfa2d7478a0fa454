"""Answerability: asked with and without the documents that answer, and nothing left behind."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from django.core.management import CommandError, call_command

from ingestion.models import Document, Index, IndexedPassage, serving_index
from retrieval.evaluation import answerability
from retrieval.evaluation import dataset as datasets
from retrieval.evaluation.answerability import (
    Asked,
    Judged,
    Trial,
    area,
    foreign_to,
    share_from,
    threshold_for,
    tried,
    without,
)
from retrieval.evaluation.answerability_show import heading, markdown, summary_lines
from retrieval.evaluation.dataset import Question
from retrieval.evaluation.plot import curve, svg
from retrieval.evaluation.report import KEPT
from retrieval.measured import Answering
from retrieval.retrieve import retrieve
from tenants.models import Agent, Tenant
from tests.factories import World, make_document
from tests.retrieval.evaluation.conftest import CORPUS, Folder

RULE = Answering(threshold=0.5, coverage_weight=0.2)


def evaluate(*words: object) -> str:
    out = StringIO()
    call_command("evaluate", *map(str, words), stdout=out)
    return out.getvalue()


def judged(cosine: float | None, coverage: float | None = 0.0) -> Judged:
    return Judged(cosine, coverage, None)


def trial(
    present: list[float], removed: list[float], foreign: list[float], rule: Answering | None = RULE
) -> Trial:
    asked = tuple(
        Asked(Question(f"q{n}", f"question {n}", frozenset()), judged(one), judged(other))
        for n, (one, other) in enumerate(zip(present, removed, strict=True))
    )
    about = {"language": "tr", "passages": 9}
    return Trial("made-up", about, rule, asked, tuple(judged(one) for one in foreign))


def drawn(rule: Answering | None = RULE) -> Trial:
    chance = random.Random(7)
    present, removed, foreign = (
        [chance.gauss(middle, 0.1) for _ in range(80)] for middle in (0.6, 0.5, 0.3)
    )
    return trial(present, removed, foreign, rule)


# Numbers


def test_the_area_counts_pairs_in_the_right_order_and_ties_as_half() -> None:
    assert area([3.0, 2.0], [1.0, 0.0]) == 1.0
    assert area([0.0], [1.0, 2.0]) == 0.0
    assert area([1.0, 3.0], [1.0, 2.0]) == pytest.approx((0.5 + 0 + 1 + 1) / 4)
    assert area([0.5], [float("-inf")]) == 1.0


def test_the_threshold_for_a_share_is_the_highest_that_answers_it() -> None:
    scores = [n / 100 for n in range(100)]
    assert threshold_for(scores, 0.95) == 0.05
    assert share_from(scores, 0.05) == 0.95
    assert share_from(scores, 0.0500001) < 0.95
    assert threshold_for([0.4, 0.4, 0.9], 0.95) == 0.4


def test_a_score_is_the_cosine_and_the_weighted_coverage() -> None:
    asked = Asked(Question("q", "?", frozenset()), judged(0.4, 0.5), judged(0.39, 0.5))
    found = Trial("set", {}, RULE, (asked,)).at(RULE.threshold)
    assert (found.answered, found.removed, found.foreign) == (1.0, 1.0, None)


def test_a_question_without_evidence_is_refused_at_every_threshold() -> None:
    asked = Asked(Question("q", "?", frozenset()), judged(0.4), judged(None, None))
    assert Trial("set", {}, RULE, (asked,)).at(-1.0).removed == 1.0


def test_a_higher_threshold_never_answers_more() -> None:
    made = drawn()
    for found in ([made.at(one) for one in made.thresholds()], curve(made)):
        for lower, higher in pairwise(found):
            assert lower.threshold < higher.threshold
            assert lower.answered >= higher.answered
            assert lower.removed <= higher.removed
            assert lower.foreign is not None
            assert higher.foreign is not None
            assert lower.foreign <= higher.foreign
    assert (curve(made)[0].answered, curve(made)[0].removed) == (1.0, 0.0)
    assert (curve(made)[-1].answered, curve(made)[-1].removed) == (0.0, 1.0)


def test_the_threshold_in_force_is_one_of_those_shown() -> None:
    made = drawn()
    assert RULE.threshold in made.thresholds()
    found = answerability.figures([made])["answerability"][0]
    assert [one["threshold"] for one in found["thresholds"] if one["in_force"]] == [0.5]


def test_a_space_without_a_rule_is_judged_by_cosine_and_gets_a_suggestion() -> None:
    made = drawn(rule=None)
    assert made.at(made.suggested).answered == 0.95
    assert any("none measured" in line for line in summary_lines(made))
    found = answerability.figures([made])["answerability"][0]
    assert found["rule"] is None
    assert found["auc"] == found["auc_cosine"]
    assert not any(one["in_force"] for one in found["thresholds"])


# Asking


@pytest.fixture
def shop(acme: World) -> Agent:
    for row in CORPUS:
        make_document(acme.agent, row["_id"], [row["text"]], title=row["title"] or "Taksit")
    return acme.agent


def state(agent: Agent) -> tuple[Any, ...]:
    index = Index.objects.get(agent=agent)
    documents = Document.objects.filter(agent=agent).order_by("uri")
    rows = IndexedPassage.objects.filter(index_id=index.pk).order_by("passage_id")
    return (
        list(documents.values_list("uri", "enabled", "updated_at")),
        list(rows.values_list("passage_id", "enabled")),
        index.passages,
    )


def uris(agent: Agent) -> set[str]:
    return {item.uri for item in retrieve(agent, "İade süresi kaç gün?").evidence}


def test_a_removed_document_is_no_evidence_and_comes_back(shop: Agent) -> None:
    before = state(shop)
    with without(shop, frozenset({"iade", "kargo"})):
        assert uris(shop).isdisjoint({"iade", "kargo"})
        index = serving_index(shop)
        assert index is not None
        assert index.passages == before[2] - 2
    assert uris(shop) >= {"iade", "kargo"}
    assert state(shop) == before


def test_a_removed_document_comes_back_when_the_asking_fails(shop: Agent) -> None:
    before = state(shop)
    with pytest.raises(KeyboardInterrupt), without(shop, frozenset({"iade"})):
        raise KeyboardInterrupt
    assert state(shop) == before


def test_a_document_of_the_same_name_elsewhere_stays(shop: Agent, globex: World) -> None:
    make_document(globex.agent, "iade", ["Globex iade süresi 30 gündür."])
    with without(shop, frozenset({"iade"})):
        assert "iade" in uris(globex.agent)


def test_every_question_is_asked_with_and_without_its_document(
    shop: Agent, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    met: list[tuple[str, set[str]]] = []

    def watched(agent: Agent, question: str) -> Any:
        found = retrieve(agent, question)
        met.append((question, {item.uri for item in found.evidence}))
        return found

    monkeypatch.setattr(answerability, "retrieve", watched)
    before, dataset = state(shop), datasets.read(folder.path)
    made = tried(shop, dataset, [Question("f", "Uçak kaçta?", frozenset())], lambda *at: None)
    assert state(shop) == before
    for number, question in enumerate(dataset.questions):
        asked, again = met[2 * number : 2 * number + 2]
        assert asked[0] == again[0] == question.text
        assert question.relevant <= asked[1]
        assert question.relevant.isdisjoint(again[1])
    assert met[6][0] == "Uçak kaçta?"
    assert len(met) == 7
    assert len(made.foreign) == 1
    assert made.about["passages"] == before[2]
    last = made.asked[-1]  # nothing else of this agent says when the shops are open
    assert answerability.score(RULE, last.present) > answerability.score(RULE, last.removed)


def test_the_rule_tried_is_the_one_that_answers_customers(shop: Agent, folder: Folder) -> None:
    made = tried(shop, datasets.read(folder.path), [], lambda *at: None)
    assert made.rule is not None
    for item in made.asked:
        for one in (item.present, item.removed):
            is_answered = answerability.score(made.rule, one) >= made.rule.threshold
            assert is_answered == one.answers


def test_a_space_that_was_never_measured_is_tried_without_a_rule(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("retrieval.measured._BY_MODEL", {})
    question = Question("q", "İade süresi kaç gün?", frozenset({"iade.md"}))
    made = tried(acme.agent, datasets.Dataset("own", (), (question,)), [], lambda *at: None)
    assert made.rule is None
    assert made.asked[0].present.answers is None
    assert made.suggested == made.asked[0].present.cosine


def test_an_agent_whose_only_document_is_removed_has_no_evidence(acme: World) -> None:
    question = Question("q", "Mağazalar açık mı?", frozenset({"magaza.md"}))
    dataset = datasets.Dataset("own", (), (question,))
    (asked,) = tried(acme.other_agent, dataset, [], lambda *at: None).asked
    assert asked.present.cosine is not None
    assert asked.removed == Judged(None, None, False)


def test_foreign_questions_are_those_of_sets_in_the_same_language(
    folder: Folder, another: Callable[[str], Folder]
) -> None:
    english = another("english")
    english.corpus([{**row, "text": "You can return what you bought here."} for row in CORPUS])
    own, other, strange = (datasets.read(f.path) for f in (folder, another("other"), english))
    assert foreign_to(own, [own]) == []
    assert foreign_to(own, [own, other, strange]) == list(other.questions)
    assert foreign_to(own, [own, strange]) == list(strange.questions)


def test_foreign_questions_are_few_and_taken_from_every_set(folder: Folder) -> None:
    own = datasets.read(folder.path)
    many = tuple(Question(f"m{n}", "?", frozenset()) for n in range(answerability.FOREIGN * 2))
    few = tuple(Question(f"f{n}", "?", frozenset()) for n in range(20))
    others = [replace(own, name="many", questions=many), replace(own, name="few", questions=few)]
    found = foreign_to(own, [own, *others])
    assert len({question.id for question in found}) == answerability.FOREIGN
    assert any(question.id.startswith("f") for question in found)


# Shown


def test_markdown_holds_every_threshold_and_no_question() -> None:
    text = markdown([drawn(), drawn()], "2026-01-02", Path("picture.svg"))
    assert "2026-01-02" in text
    assert "| **0.50**, in force |" in text
    assert "![" in text
    assert "(picture.svg)" in text
    assert "question 1" not in text
    assert "80 foreign ones" in heading(drawn())


def test_the_mean_is_that_of_the_sets_of_one_language() -> None:
    english = replace(drawn(), dataset="english", about={"language": "en", "passages": 9})
    header = "| threshold | made-up | made-up | english | mean of tr |"
    assert header in markdown([drawn(), drawn(), english], "2026-01-02", None)
    assert "mean" not in markdown([drawn(), english], "2026-01-02", None)


def test_the_plot_has_a_line_a_set_and_a_dot_for_the_threshold_in_force() -> None:
    name = "{http://www.w3.org/2000/svg}"
    ruled = ElementTree.fromstring(svg([drawn(), drawn()]))
    assert len(ruled.findall(f"{name}polyline")) == len(ruled.findall(f"{name}circle")) == 2
    free = ElementTree.fromstring(svg([drawn(rule=None)]))
    assert len(free.findall(f"{name}polyline")) == 1
    assert not free.findall(f".//{name}circle")


def test_the_command_reports_each_set_and_leaves_nothing(
    db: None, folder: Folder, another: Callable[[str], Folder], tmp_path: Path
) -> None:
    page, picture, numbers = (tmp_path / name for name in ("r.md", "p.svg", "a.json"))
    evaluate(folder.path, "--report", page)
    words = ["--json", numbers, "--plot", picture, "--report", page]
    shown = evaluate(folder.path, another("other").path, "--answerability", *words)
    assert "tiny, answerability: 3 questions asked twice, 3 foreign ones, 4 passages" in shown
    assert "in force" in shown
    first, second = json.loads(numbers.read_text())["answerability"]
    assert (first["dataset"], second["dataset"]) == ("tiny", "other")
    assert set(first["results"]) == {"q1", "q2", "q3"}
    assert 0.5 < first["auc"]["removed"] <= 1.0
    assert picture.read_text().startswith("<svg")
    text = page.read_text()
    assert f"## {KEPT['answerability']}" in text
    assert "(p.svg)" in text
    assert not any(question.text in text for question in datasets.read(folder.path).questions)
    assert not Tenant.objects.exists()


def test_a_new_report_keeps_what_was_measured(db: None, folder: Folder, tmp_path: Path) -> None:
    page = tmp_path / "r.md"
    for words in ((), ("--answerability",), ()):
        evaluate(folder.path, *words, "--report", page)
    assert "| **0.93**, in force |" in page.read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--answerability", "--slices"], "without --slices"),
        (["--answerability", "--traces", "t.jsonl"], "without --slices and --traces"),
        (["--plot", "p.svg"], "--plot draws"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    db: None, folder: Folder, words: list[str], reason: str
) -> None:
    with pytest.raises(CommandError, match=reason):
        evaluate(folder.path, *words)


def test_a_page_without_its_marks_is_refused_before_anything_is_asked(
    db: None, folder: Folder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answerability, "retrieve", lambda *words: pytest.fail("asked"))
    page = tmp_path / "other.md"
    page.write_text("# Other\n")
    with pytest.raises(CommandError, match="bad_setting"):
        evaluate(folder.path, "--answerability", "--report", page)
    assert page.read_text() == "# Other\n"
