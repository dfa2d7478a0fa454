"""A document becomes passages, or its job says why not; the last good version answers meanwhile."""

from __future__ import annotations

import io
import re
from typing import Any

import openai._base_client
import psycopg
import pytest
from django.db import OperationalError
from pypdfium2 import PdfDocument

from dolphy.embedding import EmbedderUnavailable
from ingestion import errors
from ingestion import ingest as flow
from ingestion.errors import DatabaseUnavailable
from ingestion.ingest import ingest, ingest_next
from ingestion.models import Document, Index, IndexedPassage, IngestionJob, Passage, Word
from ingestion.receive import receive
from retrieval.retrieve import retrieve
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer, Fault
from tests.factories import ingest_text, make_agent
from tests.ingestion.parsing.golden import DOCUMENTS

State = IngestionJob.State
TEXT = "# İade\n\nİade süresi 14 gündür.\n\n# Kargo\n\nKargo ücreti 50 liradır."
GUIDE = DOCUMENTS / "pdf" / "teslimat-rehberi.pdf"
GARBLED = ("Ã\x84Â°ade sÃ¼resi Ã¼rÃ¼nÃ¼n Ã§Ä±kÄ±ÅŸÄ± " * 40).encode()


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer) -> Agent:
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


def upload(agent: Agent, data: bytes | str, name: str = "iade.md") -> IngestionJob:
    job = receive(agent, name=name, data=data.encode() if isinstance(data, str) else data)
    ingest(job.pk)
    job.refresh_from_db()
    job.document.refresh_from_db()
    return job


def texts_of(document: Document) -> list[str]:
    return list(document.passages.order_by("position").values_list("text", flat=True))


def test_an_upload_becomes_passages_that_answer(agent: Agent) -> None:
    job = upload(agent, TEXT)
    assert (job.state, job.stage, job.error_code) == (State.SUCCEEDED, "done", "")
    assert (job.done, job.total) == (2, 2)
    assert (job.document.state, job.document.passage_count) == ("ready", 2)
    assert Index.objects.get().passages == IndexedPassage.objects.count() == 2
    assert Word.objects.filter(document=job.document).exists()
    evidence = retrieve(agent, "İade süresi kaç gün?").evidence
    assert evidence[0].text == "İade süresi 14 gündür."


def test_a_new_version_takes_the_place_of_the_old_one(agent: Agent) -> None:
    first = upload(agent, TEXT)
    second = upload(agent, TEXT.replace("14", "30"))
    assert first.document == second.document
    assert "İade süresi 30 gündür." in texts_of(second.document)
    assert Passage.objects.count() == IndexedPassage.objects.count() == 2


def test_unchanged_passages_of_a_new_version_are_not_embedded_again(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    ingest_text(agent, "iade.md", TEXT)
    embedding_server.forget()
    ingest_text(agent, "iade.md", TEXT.replace("14", "30"))
    assert len(embedding_server.embedded) == 1
    assert "30" in embedding_server.embedded[0]


def test_progress_never_goes_back_within_an_attempt(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dolphy.embedding.remote.RemoteEmbedder.batch", 3)
    seen: list[tuple[str, int, int]] = []
    real = IngestionJob.progress

    def progress(job: IngestionJob, stage: str, done: int = 0, total: int = 0) -> bool:
        seen.append((stage, done, total))
        return real(job, stage, done, total)

    monkeypatch.setattr(IngestionJob, "progress", progress)
    ingest_text(agent, "a.md", "\n\n".join(f"# Konu {n}\n\nMetin {n}." for n in range(8)))
    assert [done for _, done, _ in seen] == [0, 0, 0, 0, 0, 3, 6, 8, 8]
    stages = [stage for stage, _, _ in seen]
    assert list(dict.fromkeys(stages)) == [
        "parsing", "segmenting", "analysing", "embedding", "indexing"
    ]  # fmt: skip
    assert {total for _, _, total in seen[4:]} == {8}


def pages_of_pdf(count: int) -> bytes:
    """A PDF of so many pages of text."""
    document = PdfDocument.new()
    while len(document) < count:
        document.import_pages(PdfDocument(GUIDE), [len(document) % 3])
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def reports(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, int]]:
    """What is written into the job's row of its progress, as it comes."""
    seen: list[tuple[str, int, int]] = []
    real = IngestionJob.progress

    def progress(job: IngestionJob, stage: str, done: int = 0, total: int = 0) -> bool:
        result = real(job, stage, done, total)
        row = IngestionJob.objects.get(pk=job.pk)
        seen.append((row.stage, row.done, row.total))
        return result

    monkeypatch.setattr(IngestionJob, "progress", progress)
    return seen


def test_the_pages_of_a_pdf_are_reported_while_it_is_read(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "REPORT_SECONDS", 0.0)
    seen = reports(monkeypatch)
    job = upload(agent, pages_of_pdf(30), "rehber.pdf")
    pages = [(done, total) for stage, done, total in seen if stage == "parsing"]
    assert pages[0] == (0, 0)
    assert pages[1:] == sorted(set(pages[1:])) and len(pages) > 20
    assert pages[-1] == (30, 30)
    passages = [(done, total) for stage, done, total in seen if stage != "parsing"]
    assert passages[:2] == [(0, 0), (0, 0)]  # pages are not taken for passages
    done, total = passages[-1]
    assert 0 < done == total <= job.document.passage_count  # a text is embedded once


def test_a_row_is_not_written_for_every_page(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "REPORT_SECONDS", 3600.0)
    seen = reports(monkeypatch)
    upload(agent, pages_of_pdf(30), "rehber.pdf")
    assert [stage for stage, _, _ in seen].count("parsing") == 1


def test_a_job_cancelled_while_its_file_is_read_stops_there(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(flow, "REPORT_SECONDS", 0.0)
    real = IngestionJob.progress

    def progress(job: IngestionJob, stage: str, done: int = 0, total: int = 0) -> bool:
        assert stage == "parsing" and done <= 2
        if done == 2:
            IngestionJob.objects.get(pk=job.pk).cancel()
        return real(job, stage, done, total)

    monkeypatch.setattr(IngestionJob, "progress", progress)
    job = upload(agent, pages_of_pdf(30), "rehber.pdf")
    assert (job.state, job.stage, job.done, job.total) == (State.CANCELLED, "parsing", 1, 30)
    assert not Passage.objects.exists()


# What cannot become passages


@pytest.mark.parametrize(
    "data, name, code",
    [
        (GARBLED, "bozuk.txt", "garbled_text"),
        (b"---- **** ----", "bos.txt", "no_content"),
        (b"# Only\n\n## Headings", "basliklar.md", "no_content"),
        (b"%PDF-1.7\nnothing of a PDF follows", "kirik.pdf", "broken_file"),
    ],
)
def test_unreadable_documents_need_attention_and_say_why(
    agent: Agent, data: bytes, name: str, code: str
) -> None:
    job = upload(agent, data, name)
    assert (job.state, job.error_code) == (State.FAILED, code)
    assert len(job.error) > 20
    assert (job.document.state, job.document.passage_count) == ("attention", 0)
    assert not Passage.objects.exists()


def test_a_document_that_needs_attention_shows_what_its_last_version_was(agent: Agent) -> None:
    upload(agent, b"---- **** ----", "a.txt")
    job = upload(agent, GARBLED, "a.txt")
    assert job.document.report["garble_ratio"] > 0


def test_the_last_good_version_answers_while_the_new_one_is_unreadable(agent: Agent) -> None:
    upload(agent, TEXT, "iade.txt")
    job = upload(agent, GARBLED, "iade.txt")
    assert (job.state, job.error_code) == (State.FAILED, "garbled_text")
    assert job.document.state == "ready"
    evidence = retrieve(agent, "İade süresi kaç gün?").evidence
    assert "14 gündür" in evidence[0].text


def test_a_document_that_needed_attention_is_ready_with_a_good_version(agent: Agent) -> None:
    upload(agent, GARBLED, "iade.txt")
    assert upload(agent, TEXT, "iade.txt").document.state == "ready"


def test_questions_with_answers_become_one_passage_each(agent: Agent) -> None:
    data = "soru,cevap\nİade süresi kaç gün?,14 gün.\nKargo ücreti ne kadar?,50 lira.\n"
    job = upload(agent, data, "sss.csv")
    assert job.document.passage_count == 2
    best = retrieve(agent, "Kargo ücreti ne kadar?").evidence[0]
    assert "50 lira" in best.text
    assert any("Kargo ücreti" in part for part in best.heading)


def test_a_file_that_is_gone_is_named(agent: Agent) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    IngestionJob.objects.update(file=f"{job.file}-gone")
    ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (State.FAILED, "file_missing")


def test_what_nobody_foresaw_ends_the_job_with_its_name(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(flow, "segment", broken)
    job = upload(agent, TEXT)
    assert (job.state, job.error_code) == (State.FAILED, "error")
    assert "ZeroDivisionError" in job.error


# What passes


@pytest.fixture
def no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai._base_client.time, "sleep", lambda _: None)
    monkeypatch.setattr("ingestion.faults.time.sleep", lambda _: None)


def test_while_the_embedder_is_away_the_job_says_so_and_then_finishes(
    agent: Agent, embedding_server: EmbeddingServer, no_sleep: None
) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    embedding_server.fault = Fault.SERVER_ERROR
    ingest_next()
    job.refresh_from_db()
    assert (job.state, job.error_code, job.attempts) == (State.QUEUED, "embedder_unavailable", 0)
    assert job.not_before is not None
    assert job.document.state == "waiting"
    embedding_server.fault = Fault.NONE
    IngestionJob.objects.update(not_before=None)
    ingest_next()
    job.refresh_from_db()
    assert (job.state, job.error_code, job.faults) == (State.SUCCEEDED, "", 0)


@pytest.mark.parametrize("body", [b"<html>502 Bad Gateway</html>", b"", b'{"error": "overloaded"}'])
def test_a_job_waits_while_the_embedder_talks_nonsense(
    agent: Agent, embedding_server: EmbeddingServer, no_sleep: None, body: bytes
) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    embedding_server.body = body
    ingest_next()
    job.refresh_from_db()
    assert (job.state, job.error_code) == (State.QUEUED, "embedder_unavailable")
    embedding_server.body = None
    IngestionJob.objects.update(not_before=None)
    ingest_next()
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


def test_who_does_a_job_at_once_is_told_that_it_must_wait(
    agent: Agent, embedding_server: EmbeddingServer, no_sleep: None
) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    embedding_server.fault = Fault.SERVER_ERROR
    with pytest.raises(EmbedderUnavailable):
        ingest(job.pk)


def database_error(cause: Exception | None) -> Any:
    def broken(*args: Any) -> None:
        raise OperationalError("it did not work") from cause

    return broken


@pytest.mark.parametrize("cause", [None, psycopg.errors.AdminShutdown(), psycopg.errors.DiskFull()])
def test_when_the_database_goes_away_the_job_is_put_back(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, no_sleep: None, cause: Exception | None
) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    with monkeypatch.context() as patched:
        patched.setattr(flow, "swap", database_error(cause))
        with pytest.raises(DatabaseUnavailable):
            ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (State.QUEUED, "database_unavailable")
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


def test_what_the_database_will_never_take_ends_the_job(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    too_long = psycopg.errors.ProgramLimitExceeded("string is too long for tsvector")
    monkeypatch.setattr(flow, "swap", database_error(too_long))
    job = upload(agent, TEXT)
    assert (job.state, job.error_code) == (State.FAILED, "error")


def test_a_document_that_is_deleted_meanwhile_leaves_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, embedding_server: EmbeddingServer
) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    real = flow.swap

    def deleted_before(*args: Any) -> None:
        Document.objects.filter(pk=job.document_id).delete()
        real(*args)

    monkeypatch.setattr(flow, "swap", deleted_before)
    ingest(job.pk)
    for model in (Document, Passage, IndexedPassage, Word, IngestionJob):
        assert not model.objects.exists()


def test_errors_speak_to_people() -> None:
    for name, error in vars(errors).items():
        if isinstance(error, type) and error.__module__ == errors.__name__:
            made = error({}) if name == "PassagesRefused" else error()
            assert re.search(r"[.!]$", made.message), name
