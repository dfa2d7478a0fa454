"""What is done to documents after they were received, seen by the next search."""

from __future__ import annotations

import threading
import time
from typing import Any

import psycopg
import pytest
from django.core.files.storage import default_storage
from django.db import connection

from dolphy.errors import NotFound
from ingestion import documents
from ingestion.models import Document, Index, IndexedPassage, IngestionJob, Passage, Word
from ingestion.receive import receive
from retrieval.retrieve import retrieve
from tenants.models import Tenant
from tests.factories import QUESTION, World, make_document, make_job


def found(world: World) -> set[str]:
    return {one.uri for one in retrieve(world.agent, QUESTION).evidence}


def counted(world: World) -> int:
    return Index.objects.get(pk=world.index.pk).passages


def test_a_disabled_document_answers_no_more_and_an_enabled_one_again(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo iki günde gelir."])
    documents.set_enabled(acme.document, False)
    assert found(acme) == {"kargo.md"}
    documents.set_enabled(acme.document, True)
    assert found(acme) == {"kargo.md", "iade.md"}


def test_an_index_counts_what_is_enabled(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo iki günde gelir."])
    assert counted(acme) == 3
    documents.set_enabled(acme.document, False)
    documents.set_enabled(acme.document, False)
    assert counted(acme) == 1
    documents.delete(acme.document)
    assert counted(acme) == 1


def test_deleting_an_enabled_document_lowers_the_count(acme: World) -> None:
    documents.delete(acme.document)
    assert counted(acme) == 0


def test_a_deleted_document_leaves_nothing(
    acme: World, django_capture_on_commit_callbacks: Any
) -> None:
    key, file = acme.document.pk, acme.document.file
    failed = default_storage.save(f"{acme.tenant.pk}/{key}/other", default_storage.open(file))
    make_job(acme.document, "failed", error_code="x")
    IngestionJob.objects.filter(state="failed").update(file=failed)
    with django_capture_on_commit_callbacks(execute=True):
        documents.delete(acme.document)
        assert default_storage.exists(file)  # until the rows are surely gone
    assert found(acme) == set()
    for model in (Passage, IndexedPassage, Word, IngestionJob):
        assert not model.objects.filter(document=key).exists()
    assert not default_storage.exists(file)
    assert not default_storage.exists(failed)


def test_a_file_that_cannot_be_removed_does_not_undo_the_deletion(
    acme: World, django_capture_on_commit_callbacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*names: str) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr("ingestion.files.discard", broken)
    with django_capture_on_commit_callbacks(execute=True):
        documents.delete(acme.document)
    assert not Document.objects.filter(pk=acme.document.pk).exists()


def test_what_was_deleted_meanwhile_is_not_found(acme: World) -> None:
    documents.delete(Document.objects.get(pk=acme.document.pk))
    for act in (
        lambda: documents.delete(acme.document),
        lambda: documents.set_enabled(acme.document, False),
        lambda: documents.rename(acme.document, "x"),
    ):
        with pytest.raises(NotFound):
            act()


def test_a_new_title_is_cited_at_once_and_indexed_by_a_job(acme: World) -> None:
    documents.rename(acme.document, "Yeni ad")
    assert {one.document for one in retrieve(acme.agent, QUESTION).evidence} == {"Yeni ad"}
    job = IngestionJob.objects.filter(document=acme.document.pk).latest("created_at")
    assert (job.state, job.sha256) == ("queued", acme.document.sha256)
    fresh = Document.objects.get(pk=acme.document.pk)
    assert fresh.title == fresh.given_title == "Yeni ad"


def test_the_same_title_again_makes_no_job(acme: World) -> None:
    documents.rename(acme.document, "Yeni ad")
    before = IngestionJob.objects.count()
    documents.rename(acme.document, "Yeni ad")
    assert IngestionJob.objects.count() == before


def test_a_title_given_while_a_new_version_waits_keeps_the_new_version(acme: World) -> None:
    waiting = receive(acme.agent, name="iade.md", data="# Yeni\n\nSüre 30 gün.".encode())
    assert waiting.document == acme.document
    documents.rename(acme.document, "Yeni ad")
    job = IngestionJob.objects.filter(document=acme.document.pk, state="queued").get()
    assert job.sha256 == waiting.sha256


def test_several_changes_are_one(acme: World) -> None:
    documents.change(acme.document, title="Yeni ad", enabled=False)
    fresh = Document.objects.get(pk=acme.document.pk)
    assert (fresh.title, fresh.enabled) == ("Yeni ad", False)


def test_a_change_that_fails_half_way_changes_nothing(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **fields: object) -> None:
        raise OSError("the disk is gone")

    monkeypatch.setattr(documents, "receive_again", broken)
    with pytest.raises(OSError):
        documents.change(acme.document, title="Yeni ad", enabled=False)
    assert Document.objects.get(pk=acme.document.pk).enabled
    assert found(acme) == {"iade.md"}


def test_other_documents_and_tenants_stay_as_they_are(acme: World, globex: World) -> None:
    before = list(IndexedPassage.objects.filter(tenant=globex.tenant.pk).values("pk", "enabled"))
    documents.set_enabled(acme.document, False)
    documents.delete(acme.document)
    after = list(IndexedPassage.objects.filter(tenant=globex.tenant.pk).values("pk", "enabled"))
    assert after == before
    assert counted(globex) == 2
    assert Tenant.objects.count() == 2


def test_enabling_reads_rows_by_their_passages(acme: World) -> None:
    """The narrow table is large and has no index on its document."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        rows = documents._rows_of(acme.document, acme.index)
        plan = rows.explain()
    assert "Seq Scan" not in plan


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", ["disable", "delete"])
def test_an_act_waits_for_a_swap_instead_of_deadlocking_with_it(acme: World, act: str) -> None:
    """A swap locks the index, then the document; so it must be able to, whoever waits for it."""
    swap = psycopg.connect(**connection.get_connection_params())
    swap.execute("SELECT 1 FROM ingestion_index WHERE id = %s FOR UPDATE", [acme.index.pk])
    actor = threading.Thread(target=_act, args=(act, acme.document))
    actor.start()
    _wait_until_someone_waits_for(swap)
    swap.execute("SET lock_timeout = '2s'")
    swap.execute("SELECT 1 FROM ingestion_document WHERE id = %s FOR UPDATE", [acme.document.pk])
    swap.commit()
    swap.close()
    actor.join(timeout=30)
    assert not actor.is_alive()
    assert found(acme) == set()
    assert counted(acme) == 0


def _act(act: str, document: Document) -> None:
    try:
        if act == "delete":
            documents.delete(document)
        else:
            documents.set_enabled(document, False)
    finally:
        connection.close()


def _wait_until_someone_waits_for(holder: psycopg.Connection[Any]) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT 1 FROM pg_stat_activity WHERE %s = ANY (pg_blocking_pids(pid))",
                [holder.info.backend_pid],
            )
            if cursor.fetchone():
                return
        time.sleep(0.02)
    pytest.fail("nobody waits for the index")
