"""The main path, end to end: bytes in, passages kept, a question answered."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.ingest import ingest
from ingestion.models import Document, IndexedPassage, IngestionJob, Passage, serving_index
from ingestion.receive import receive
from retrieval.errors import QuestionTooLong
from retrieval.retrieve import Retrieval, retrieve
from retrieval.serializers import EvidenceSerializer, SearchAnswerSerializer
from tenants.models import Agent, Tenant

RETURNS = """# İade ve değişim

## Süre
Ürünü teslim aldığınız günden başlayarak 14 gün içinde iade edebilirsiniz.

## Ücret
İade kargosu ücretsizdir; kargo kodu TR-1234 ile şubeye bırakın.
"""
DELIVERY = """# Teslimat

## Süre
Siparişler İstanbul'da ertesi gün, diğer illerde üç iş günü içinde teslim edilir.

## Ücret
35.000,50 TL üzerindeki siparişlerde teslimat ücretsizdir.
"""
Evidence = list[tuple[str, int, float]]


@pytest.fixture
def agent(db: None) -> Agent:
    tenant = Tenant.objects.create(slug="shop", name="Shop")
    return Agent.objects.create(tenant=tenant, slug="help", name="Help")


def upload(agent: Agent, uri: str, text: str) -> Document:
    job = receive(agent, name=uri, data=text.encode())
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == IngestionJob.State.SUCCEEDED, job.error
    return Document.objects.get(pk=job.document_id)


def order(found: Retrieval) -> Evidence:
    return [(row["uri"], row["position"], row["score"]) for row in found.trace["candidates"]]


def test_a_document_becomes_passages_with_their_headings(agent: Agent) -> None:
    document = upload(agent, "iade.md", RETURNS)
    passages = Passage.objects.filter(document=document).order_by("position")
    assert document.state == Document.State.READY
    assert document.title == "İade ve değişim"
    assert [passage.heading[-1] for passage in passages] == ["Süre", "Ücret"]
    assert serving_index(agent).passages == 2  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("question", "uri", "heading"),
    [
        ("İade süresi kaç gün?", "iade.md", "Süre"),
        ("TR-1234 ne işe yarıyor", "iade.md", "Ücret"),
        ("35.000,50 TL'lik sipariş verdim", "teslimat.md", "Ücret"),
        ("Istanbul'a ne zaman gelir", "teslimat.md", "Süre"),
        ("urunu nasil iade ederim", "iade.md", "Süre"),
    ],
)
def test_a_question_gets_the_passage_that_answers_it(
    agent: Agent, question: str, uri: str, heading: str
) -> None:
    upload(agent, "iade.md", RETURNS)
    upload(agent, "teslimat.md", DELIVERY)
    first = retrieve(agent, question).evidence[0]
    assert (first.uri, first.heading[-1]) == (uri, heading)


def test_the_same_bytes_again_change_nothing(agent: Agent) -> None:
    upload(agent, "iade.md", RETURNS)
    before = list(Passage.objects.values_list("pk", flat=True).order_by("pk"))
    again = receive(agent, name="iade.md", data=RETURNS.encode())
    assert again.state == IngestionJob.State.SUCCEEDED
    assert list(Passage.objects.values_list("pk", flat=True).order_by("pk")) == before
    assert IngestionJob.objects.count() == 1


def test_a_new_version_replaces_the_old_one(agent: Agent) -> None:
    upload(agent, "iade.md", RETURNS)
    upload(agent, "iade.md", RETURNS.replace("14 gün", "30 gün"))
    found = retrieve(agent, "İade süresi kaç gün?").evidence
    assert "30 gün" in found[0].text
    assert not any("14 gün" in one.text for one in found)
    assert Document.objects.count() == 1
    assert IndexedPassage.objects.filter(tenant=agent.tenant_id).count() == 2


def test_a_redelivered_task_changes_nothing(agent: Agent) -> None:
    job = receive(agent, name="iade.md", data=RETURNS.encode())
    ingest(job.pk)
    before = list(Passage.objects.values("pk", "text"))
    assert ingest(job.pk) is None
    assert list(Passage.objects.values("pk", "text")) == before


def test_a_broken_new_version_leaves_the_good_one_serving(agent: Agent) -> None:
    document = upload(agent, "iade.md", RETURNS)
    job = receive(agent, name="iade.md", data=b"# Just a heading\n")
    ingest(job.pk)
    job.refresh_from_db()
    document.refresh_from_db()
    assert (job.state, job.error_code) == (IngestionJob.State.FAILED, "no_content")
    assert document.state == Document.State.READY
    assert retrieve(agent, "İade süresi kaç gün?").evidence[0].uri == "iade.md"


def test_the_order_of_ingestion_does_not_matter(agent: Agent) -> None:
    files = {
        f"belge-{number}.md": f"# Belge {number}\n\n" + text
        for number, text in enumerate([RETURNS, DELIVERY, RETURNS, DELIVERY, "İade yoktur."])
    }
    other = Agent.objects.create(tenant=agent.tenant, slug="other", name="Other")
    for uri, text in files.items():
        upload(agent, uri, text)
    for uri, text in reversed(files.items()):
        upload(other, uri, text)
    for question in ("İade süresi kaç gün?", "kargo ücreti", "TR-1234"):
        first, second = retrieve(agent, question), retrieve(other, question)
        assert order(first) == order(second)
        assert [e.text for e in first.evidence] == [e.text for e in second.evidence]


def test_evidence_of_repeated_passages_comes_once(agent: Agent) -> None:
    for number in range(5):
        upload(agent, f"kopya-{number}.md", RETURNS)
    texts = [one.text for one in retrieve(agent, "İade süresi kaç gün?").evidence]
    assert len(texts) == len(set(texts)) == 2


def test_an_agent_without_documents_answers_with_nothing(agent: Agent) -> None:
    found = retrieve(agent, "İade süresi kaç gün?")
    assert found.evidence == ()
    assert found.trace["pool"]["candidates"] == 0


class TestCommands:
    """The same by command."""

    def files(self, folder: Path) -> Path:
        (folder / "iade.md").write_text(RETURNS)
        (folder / "teslimat.md").write_text(DELIVERY)
        (folder / "bos.txt").write_text("")
        return folder

    def test_ingest_takes_a_folder_and_says_what_was_refused(
        self, agent: Agent, tmp_path: Path, capsys: Any, without_worker: Callable[[], None]
    ) -> None:
        with pytest.raises(CommandError, match="1 of the files"):
            call_command("ingest", "shop/help", str(self.files(tmp_path)))
        printed = capsys.readouterr().out
        assert "empty_file" in printed
        assert set(Document.objects.values_list("uri", "state")) == {
            ("iade.md", "ready"),
            ("teslimat.md", "ready"),
        }

    def test_ingest_refuses_a_name_that_is_not_utf8_and_goes_on(
        self, agent: Agent, tmp_path: Path, capsys: Any, without_worker: Callable[[], None]
    ) -> None:
        (tmp_path / "iade.md").write_text(RETURNS)
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xfeade.txt")).write_text(DELIVERY)
        with pytest.raises(CommandError, match="1 of the files"):
            call_command("ingest", "shop/help", str(tmp_path))
        printed = capsys.readouterr().out
        assert "bad_name" in printed and "\\udcfeade.txt" in printed
        assert list(Document.objects.values_list("uri", "state")) == [("iade.md", "ready")]

    def test_search_prints_json_as_the_api_answers_and_explain_takes_its_trace(
        self, agent: Agent, capsys: Any
    ) -> None:
        upload(agent, "iade.md", RETURNS)
        capsys.readouterr()
        call_command("search", "shop/help", "İade süresi kaç gün?", "--json", "--limit", "1")
        printed = json.loads(capsys.readouterr().out)
        shape = {name for name, field in SearchAnswerSerializer().fields.items() if field.required}
        assert set(printed) == shape
        assert set(printed["evidence"][0]) == set(EvidenceSerializer().fields)
        assert len(printed["evidence"]) == 1
        call_command("explain", printed["trace"])
        assert "the same evidence in the same order" in capsys.readouterr().out

    def test_search_explains_the_whole_pool(self, agent: Agent, capsys: Any) -> None:
        upload(agent, "iade.md", RETURNS)
        capsys.readouterr()
        call_command("search", "shop/help", "İade süresi kaç gün?", "--explain")
        printed = capsys.readouterr().out
        assert "kept" in printed
        assert "iade.md#0" in printed

    @pytest.mark.parametrize(
        ("name", "question", "code"),
        [
            ("shop/none", "soru", "not_found"),
            ("none/help", "soru", "not_found"),
            ("shop/help", "  ", "question_empty"),
            ("shop/help", "?!…", "question_without_words"),
            ("shop/help", "soru\0", "question_not_text"),
            ("shop/help", "a" * 20_000, "question_too_long"),
        ],
    )
    def test_a_bad_question_is_refused_by_name(
        self, agent: Agent, name: str, question: str, code: str
    ) -> None:
        with pytest.raises(CommandError, match=code):
            call_command("search", name, question)

    @pytest.mark.parametrize(
        ("options", "code"),
        [(["--limit", "0"], "bad_limit"), (["--fusion", "x"], "unknown_fusion")],
    )
    def test_a_bad_option_is_refused_by_name(
        self, agent: Agent, options: list[str], code: str
    ) -> None:
        with pytest.raises(CommandError, match=code):
            call_command("search", "shop/help", "soru", *options)


@pytest.fixture
def without_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait a second to hear that this test session has no worker."""
    monkeypatch.setattr("ingestion.management.commands.ingest.WORKER_SECONDS", 0.01)


def test_markup_in_documents_is_shown_and_not_obeyed(
    agent: Agent, tmp_path: Path, capsys: Any, without_worker: None
) -> None:
    (tmp_path / "[b] ek.md").write_text("# Kalın [/b] yazı\n\nİade 14 gün [/red] içinde.")
    call_command("ingest", "shop/help", str(tmp_path))
    assert "[b] ek.md" in capsys.readouterr().out
    call_command("search", "shop/help", "IADE KAC GUN [/x]", "--explain")
    assert "Kalın [/b] yazı" in capsys.readouterr().out


def test_a_question_of_few_characters_and_many_tokens_is_refused(agent: Agent) -> None:
    upload(agent, "iade.md", RETURNS)
    with pytest.raises(QuestionTooLong, match="tokens"):
        retrieve(agent, "ß ş ğ ç ö " * 190)
