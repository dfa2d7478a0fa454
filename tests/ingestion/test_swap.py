"""The new passages take the place of the old ones at once, or not at all."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from ingestion import swap as module
from ingestion.errors import IndexRetired
from ingestion.indexes import index_for
from ingestion.ingest import ingest
from ingestion.models import Document, Index, IndexedPassage, IngestionJob, Passage
from ingestion.receive import receive
from retrieval.retrieve import retrieve
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer
from tests.factories import ingest_text, make_agent

State = IngestionJob.State
OLD, NEW = "# İade\n\nSüre 14 gündür.", "# İade\n\nSüre 30 gündür.\n\n# Kargo\n\nKargo bedava."


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer) -> Agent:
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


def upload(agent: Agent, text: str, name: str = "iade.md") -> IngestionJob:
    return receive(agent, name=name, data=text.encode())


def rows() -> dict[str, list[Any]]:
    return {
        model.__name__: sorted(map(repr, model.objects.values()))
        for model in (Document, Passage, IndexedPassage, Index)
    }


def fails_at(monkeypatch: pytest.MonkeyPatch, step: str, error: Exception) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(module, step, broken)


@pytest.mark.parametrize("step", ["_write_passages", "_write_index_rows", "write_words", "_count"])
def test_a_swap_that_fails_half_way_changes_nothing(
    agent: Agent, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    ingest_text(agent, "iade.md", OLD)
    before = rows()
    job = upload(agent, NEW)
    fails_at(monkeypatch, step, ValueError("broken"))
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == State.FAILED
    assert rows() == before
    assert default_storage.exists(Document.objects.get().file)


def test_an_overtaken_job_does_not_put_its_old_version_in(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer upload comes while the older one is about to swap."""
    stale = upload(agent, OLD)
    real = module._describe

    def upload_meanwhile(*args: Any) -> None:
        real(*args)
        IngestionJob.objects.filter(pk=stale.pk).update(state=State.CANCELLED, lease=None)

    monkeypatch.setattr(module, "_describe", upload_meanwhile)
    ingest(stale.pk)
    monkeypatch.undo()
    assert not Passage.objects.exists()
    ingest(upload(agent, NEW).pk)
    assert "30" in Passage.objects.get(position=0).text


def test_the_count_of_an_index_follows_what_is_enabled(agent: Agent) -> None:
    document = ingest_text(agent, "iade.md", OLD)
    ingest_text(agent, "iade.md", NEW)
    assert index_for(agent).passages == 2
    Document.objects.filter(pk=document.pk).update(enabled=False)
    IndexedPassage.objects.update(enabled=False)
    Index.objects.update(passages=0)
    ingest_text(agent, "iade.md", OLD)
    assert index_for(agent).passages == 0
    assert not retrieve(agent, "Süre kaç gün?").evidence


def test_a_retired_index_takes_nothing_in(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    job = upload(agent, OLD)
    index = index_for(agent)
    real = module.swap

    def retired_before(*args: Any) -> None:
        Index.objects.filter(pk=index.pk).update(state="retired", retired_at=timezone.now())
        real(*args)

    monkeypatch.setattr("ingestion.ingest.swap", retired_before)
    with pytest.raises(IndexRetired):
        ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (State.QUEUED, "index_retired")
    monkeypatch.undo()


# Files


@pytest.mark.django_db(transaction=True)
def test_only_the_file_of_the_served_version_stays(agent: Agent) -> None:
    ingest_text(agent, "iade.md", OLD)
    cancelled = upload(agent, "# Ara sürüm\n\nSüre 20 gündür.")
    failed = upload(agent, "# Only headings")
    ingest(failed.pk)
    document = ingest_text(agent, "iade.md", NEW)
    assert files_of(document) == [document.file.rsplit("/", 1)[1]]
    for job in (cancelled, failed):
        job.refresh_from_db()
        assert job.file == ""


@pytest.mark.django_db(transaction=True)
def test_the_file_of_a_failed_version_stays_until_a_good_one_comes(agent: Agent) -> None:
    document = ingest_text(agent, "iade.md", OLD)
    failed = upload(agent, "# Only headings")
    ingest(failed.pk)
    assert default_storage.exists(failed.file)
    assert default_storage.exists(document.file)


@pytest.mark.django_db(transaction=True)
def test_the_same_bytes_under_a_new_title_keep_a_file(agent: Agent) -> None:
    ingest_text(agent, "iade.md", OLD)
    job = receive(agent, name="iade.md", data=OLD.encode(), title="İade koşulları")
    ingest(job.pk)
    document = Document.objects.get()
    assert document.title == "İade koşulları"
    assert default_storage.exists(document.file)
    assert len(files_of(document)) == 1


def files_of(document: Document) -> list[str]:
    return default_storage.listdir(f"{document.tenant_id}/{document.pk}")[1]


# At the same time


@pytest.mark.django_db(transaction=True)
def test_there_is_no_moment_of_emptiness_and_none_of_both(agent: Agent) -> None:
    ingest_text(agent, "iade.md", OLD)
    stop = threading.Event()
    seen: set[tuple[str, ...]] = set()

    def search() -> None:
        try:
            while not stop.is_set():
                found = retrieve(agent, "Süre kaç gün?", limit=50).evidence
                seen.add(tuple(sorted(one.text for one in found)))
        finally:
            connection.close()

    searcher = threading.Thread(target=search)
    searcher.start()
    try:
        for text in (NEW, OLD) * 5:
            ingest_text(agent, "iade.md", text)
    finally:
        stop.set()
        searcher.join(30)
    assert seen <= {("Süre 14 gündür.",), ("Kargo bedava.", "Süre 30 gündür.")}
    assert seen
