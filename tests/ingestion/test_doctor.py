"""The doctor finds each thing that can go wrong, repairs it, and finds nothing in what is whole."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from dolphy.cache import valkey
from dolphy.celery import DOCUMENTS, app
from ingestion import documents, graph
from ingestion.analyse import ANALYSER_VERSION
from ingestion.doctor import Finding, examine
from ingestion.embed import KEPT_UNDER
from ingestion.graph import build
from ingestion.ingest import ingest
from ingestion.models import (
    CommonLexeme,
    Document,
    Index,
    IndexedPassage,
    IngestionJob,
    Passage,
    Word,
)
from ingestion.receive import receive
from retrieval.retrieve import retrieve
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer
from tests.factories import ingest_text, make_agent

pytestmark = pytest.mark.django_db(transaction=True)
NOW = timedelta(0)
TEXT = "# İade\n\nİade süresi 14 gündür.\n\n# Kargo\n\nKargo bedava."


@pytest.fixture
def agent(transactional_db: None, embedding_server: EmbeddingServer) -> Agent:
    clear_valkey()
    graph.drop_orphans()  # of earlier tests: emptying tables leaves indexes
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


@pytest.fixture
def document(agent: Agent) -> Document:
    document = ingest_text(agent, "iade.md", TEXT)
    assert codes() == []
    return document


def clear_valkey() -> None:
    for name in valkey().scan_iter(match=f"{KEPT_UNDER}*"):
        valkey().delete(name)
    valkey().delete(DOCUMENTS)


def found(grace: timedelta = NOW) -> list[Finding]:
    return list(examine(grace))


def codes() -> list[str]:
    return [one.code for one in found()]


def repair() -> None:
    for one in found():
        assert one.repair is not None, one
        one.repair()


def finish() -> None:
    """Do the jobs that repairs queued."""
    for job in IngestionJob.objects.filter(state="queued"):
        ingest(job.pk)


def one_thing(code: str) -> Finding:
    """Exactly this is wrong."""
    (finding,) = found()
    assert finding.code == code
    return finding


def healed() -> bool:
    finish()
    return codes() == []


# Files and Valkey


def test_a_file_that_nothing_has(document: Document) -> None:
    stray = default_storage.save(f"{document.tenant_id}/{document.pk}/stray", ContentFile(b"x"))
    assert one_thing("file_stray").where == stray
    assert found(timedelta(hours=1)) == []  # an upload may be bringing it
    repair()
    assert not default_storage.exists(stray)
    assert default_storage.exists(document.file)
    assert healed()


def test_files_of_a_tenant_that_is_gone(document: Document) -> None:
    Tenant.objects.all().delete()
    assert codes() == ["file_stray"]
    repair()
    assert codes() == []


def test_files_that_are_no_documents_are_left_alone(document: Document) -> None:
    default_storage.save("logos/acme/a.png", ContentFile(b"x"))
    assert codes() == []


def test_a_file_that_is_gone_is_left_to_a_person(document: Document) -> None:
    default_storage.delete(document.file)
    assert one_thing("file_missing").repair is None
    with pytest.raises(CommandError):
        call_command("doctor", "--fix", stdout=StringIO())


def test_vectors_that_are_kept_for_no_job(document: Document) -> None:
    job = IngestionJob.objects.get()
    for name in (f"{KEPT_UNDER}{job.pk}", f"{KEPT_UNDER}nonsense"):
        valkey().hset(name, "a", "b")
    assert codes() == ["vectors_stray"] * 2
    repair()
    assert healed()


def test_vectors_of_a_job_at_work_stay(agent: Agent) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    valkey().hset(f"{KEPT_UNDER}{job.pk}", "a", "b")
    assert codes() == []
    valkey().delete(f"{KEPT_UNDER}{job.pk}")


# Jobs


def test_a_job_whose_worker_died(agent: Agent) -> None:
    job = receive(agent, name="a.md", data=TEXT.encode())
    job.start()
    IngestionJob.objects.update(lease_until=timezone.now() - timedelta(seconds=1))
    with app.connection_for_write() as broker, broker.channel() as channel:
        channel.queue_purge(DOCUMENTS)
    assert codes() == ["job_abandoned", "jobs_unsent"]
    repair()
    ingest(job.pk)
    assert healed()


def test_a_job_without_a_message(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("ingestion.queue.send", lambda *_: False)
        receive(agent, name="a.md", data=TEXT.encode())
    one_thing("jobs_unsent")
    repair()
    assert healed()


def test_a_document_that_nobody_ingests(agent: Agent) -> None:
    Document.objects.create(tenant_id=agent.tenant_id, agent=agent, uri="a.md")
    one_thing("document_stranded")
    repair()
    assert Document.objects.get().state == "attention"
    assert healed()


# Documents, passages and the rows of the index


def forget_a_passage(document: Document) -> None:
    Passage.objects.filter(position=1).delete()


def say_another_count(document: Document) -> None:
    Document.objects.update(passage_count=7)


def lose_rows(document: Document) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM ingestion_indexedpassage WHERE position = 1")
    Index.objects.update(passages=1)


def old_analyser(document: Document) -> None:
    IndexedPassage.objects.update(analyser=ANALYSER_VERSION + 1)


def disable_a_row(document: Document) -> None:
    IndexedPassage.objects.filter(position=1).update(enabled=False)
    Index.objects.update(passages=1)


def say_another_address(document: Document) -> None:
    IndexedPassage.objects.filter(position=1).update(uri="eski.md")


@pytest.mark.parametrize(
    "harm, expected",
    [
        (forget_a_passage, {"document_miscounted", "index_miscounted"}),
        (say_another_count, {"document_miscounted"}),
        (lose_rows, {"index_underfilled"}),
        (old_analyser, {"analyser_stale"}),
        (disable_a_row, {"index_differs"}),
        (say_another_address, {"index_differs"}),
        (lambda _: Index.objects.update(passages=9), {"index_miscounted"}),
    ],
)
def test_what_differs_is_found_and_made_whole(
    document: Document, harm: Callable[[Document], Any], expected: set[str]
) -> None:
    harm(document)
    assert set(codes()) == expected
    repair()
    repair_what_followed()
    assert healed()
    assert Index.objects.get().passages == IndexedPassage.objects.count() == 2
    assert retrieve(document.agent, "İade süresi kaç gün?").evidence


def repair_what_followed() -> None:
    """A corrected row may change a count."""
    finish()
    repair()


def test_ingesting_again_embeds_nothing_again(
    document: Document, embedding_server: EmbeddingServer
) -> None:
    old_analyser(document)
    embedding_server.forget()
    repair()
    repair()  # a second run finds the job that the first one queued
    assert IngestionJob.objects.filter(state="queued").count() == 1
    assert healed()
    assert embedding_server.embedded == []


def test_words_of_a_document_without_passages(document: Document) -> None:
    empty = Document.objects.create(
        tenant_id=document.tenant_id, agent_id=document.agent_id, uri="x.md", state="attention"
    )
    Word.objects.create(
        tenant_id=document.tenant_id,
        agent_id=document.agent_id,
        document=empty,
        folded="a",
        surface="a",
        count=1,
    )
    before = Word.objects.filter(document=document).count()
    one_thing("words_stray")
    repair()
    assert healed()
    assert Word.objects.count() == before


# Indexes


@pytest.fixture
def small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Graphs and statistics from two passages on."""
    monkeypatch.setattr(graph, "EXACT_UP_TO", 1)
    monkeypatch.setattr(graph, "GRAPH_DOWN_TO", 1)
    monkeypatch.setattr(graph, "STATISTICS_FROM", 2)


def graph_names() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relname LIKE 'indexed_passage_graph_%%'"
            " AND relkind = 'i'"
        )
        return [name for (name,) in cursor.fetchall()]


def test_a_graph_and_statistics_that_are_missing(document: Document, small_graphs: None) -> None:
    assert codes() == ["graph_missing", "statistics_old"]
    repair()
    assert len(graph_names()) == 1
    assert healed()


def test_a_graph_that_is_gone_although_searches_ask_for_it(
    document: Document, small_graphs: None
) -> None:
    repair()
    Index.objects.get()
    with connection.cursor() as cursor:
        cursor.execute(f"DROP INDEX {graph_names()[0]}")
    one_thing("graph_missing")
    repair()
    assert healed()


def test_a_graph_whose_building_was_broken_off(document: Document, small_graphs: None) -> None:
    repair()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = %s::regclass", graph_names()
        )
    one_thing("graph_broken")
    repair()
    assert healed()


def test_a_graph_that_is_too_much(document: Document) -> None:
    build(Index.objects.select_related("space").get())
    one_thing("graph_needless")
    repair()
    assert graph_names() == []
    assert healed()


def test_a_graph_whose_index_is_gone(document: Document) -> None:
    build(Index.objects.select_related("space").get())
    documents.delete(document)
    Index.objects.all().delete()
    one_thing("graph_stray")
    repair()
    assert graph_names() == []


def test_an_index_that_nothing_reads(document: Document) -> None:
    serving = Index.objects.get()
    Index.objects.create(
        tenant_id=serving.tenant_id,
        agent_id=serving.agent_id,
        space=serving.space,
        state="retired",
        retired_at=timezone.now() - timedelta(days=1),
    )
    one_thing("index_retired")
    repair()
    assert Index.objects.get() == serving


# A deletion


def test_a_deleted_document_leaves_nothing_behind(agent: Agent, document: Document) -> None:
    """With versions of every kind: served, failed, and one at work with vectors kept."""
    ingest(receive(agent, name="iade.md", data=b"# Only a heading").pk)
    at_work = receive(agent, name="iade.md", data=b"# New\n\ntext")
    at_work.start()
    valkey().hset(f"{KEPT_UNDER}{at_work.pk}", "a", "b")
    documents.delete(document)
    for model in (Document, Passage, IndexedPassage, IngestionJob, Word, CommonLexeme):
        assert not model.objects.exists()
    assert list(valkey().scan_iter(match=f"{KEPT_UNDER}*")) == []
    assert default_storage.listdir(f"{document.tenant_id}/{document.pk}")[1] == []
    valkey().delete(DOCUMENTS)
    assert codes() == []
    assert retrieve(agent, "İade süresi kaç gün?").evidence == ()


# The command


def run(*arguments: str) -> str:
    out = StringIO()
    call_command("doctor", "--grace", "0", *arguments, stdout=out)
    return out.getvalue()


def test_the_command_says_that_nothing_is_wrong(document: Document) -> None:
    assert run() == "Nothing is wrong.\n"


def test_the_command_names_what_is_wrong_changes_nothing_and_fails(document: Document) -> None:
    Index.objects.update(passages=9)
    with pytest.raises(CommandError) as failed:
        run()
    assert failed.value.returncode == 1
    assert Index.objects.get().passages == 9


def test_the_command_repairs_with_fix(document: Document) -> None:
    Index.objects.update(passages=9)
    assert "index_miscounted" in run("--fix")
    assert Index.objects.get().passages == 2
    assert run() == "Nothing is wrong.\n"
