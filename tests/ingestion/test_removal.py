"""Many documents go at once: out of every answer in one statement, purged afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.conf import settings as django_settings
from django.core.files.storage import default_storage
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dolphy.cache import valkey
from ingestion import quotas, removal, tasks
from ingestion.doctor import examine
from ingestion.embed import KEPT_UNDER
from ingestion.errors import JobLost
from ingestion.ingest import ingest
from ingestion.models import Document, Index, IndexedPassage, IngestionJob, Passage, Word
from ingestion.receive import receive
from retrieval.retrieve import retrieve
from tests.embedding_server import EmbeddingServer, services
from tests.factories import QUESTION, World, make_document, make_job

KILLED = """
import time, django
django.setup()
from ingestion import removal
discard = removal.files.discard
def slow(*names):
    discard(*names)
    print("files are gone", flush=True)
    time.sleep(60)
removal.files.discard = slow
removal.purge()
"""
ENVIRONMENT = {"DJANGO_SETTINGS_MODULE": "dolphy.settings"}
EVERYTHING = (Passage, IndexedPassage, Word, IngestionJob)


def hide(world: World, *documents: Document) -> int:
    return removal.hide(world.tenant.pk, world.agent.pk, [one.pk for one in documents])


def many(world: World, count: int) -> list[Document]:
    return [
        make_document(world.agent, f"{n}.md", [f"{n} için iade süresi {n} gündür."])
        for n in range(count)
    ]


def left_of(document: Document) -> list[type]:
    return [kind for kind in EVERYTHING if kind.objects.filter(document=document.pk).exists()]


def enabled_rows(world: World) -> int:
    rows = IndexedPassage.objects.filter(tenant=world.tenant.pk, index=world.index.pk)
    return rows.filter(enabled=True).count()


def test_the_next_search_shows_it_before_anything_is_purged(acme: World) -> None:
    assert retrieve(acme.agent, QUESTION).evidence
    assert hide(acme, acme.document) == 1
    assert retrieve(acme.agent, QUESTION).evidence == ()
    assert left_of(acme.document) == [Passage, Word, IngestionJob]
    assert default_storage.exists(acme.document.file)


def test_a_removed_document_is_not_there_for_anybody(acme: World) -> None:
    hide(acme, acme.document)
    path = f"/api/v1/documents/{acme.document.pk}"
    assert acme.client.get(path).status_code == 404
    assert acme.client.get(f"{path}/passages").status_code == 404
    assert acme.client.delete(path).status_code == 404
    listed = acme.client.get(f"/api/v1/agents/{acme.agent.pk}/documents").json()["results"]
    assert listed == []
    assert hide(acme, acme.document) == 0


def test_the_count_of_the_index_follows(acme: World) -> None:
    rest, disabled = make_document(acme.agent, "a.md", ["bir"]), many(acme, 1)[0]
    IndexedPassage.objects.filter(document=disabled.pk).update(enabled=False)
    Index.objects.filter(pk=acme.index.pk).update(passages=3)
    hide(acme, acme.document, disabled)
    assert Index.objects.get(pk=acme.index.pk).passages == enabled_rows(acme) == 1
    assert left_of(rest) == [Passage, IndexedPassage, Word]


def test_other_agents_and_tenants_keep_what_is_theirs(acme: World, globex: World) -> None:
    of_other = Document.objects.get(agent=acme.other_agent)
    assert hide(acme, acme.document, of_other, globex.document) == 1
    removal.purge()
    assert set(Document.with_removed.values_list("agent", flat=True)) == {
        acme.other_agent.pk,
        globex.agent.pk,
        globex.other_agent.pk,
    }
    assert enabled_rows(globex) == 2


def test_a_thousand_documents_cost_the_request_no_more_queries_than_one(acme: World) -> None:
    def queries(documents: list[Document]) -> int:
        with CaptureQueriesContext(connection) as captured:
            hide(acme, *documents)
        return len(captured)

    rows = many(acme, 21)
    assert queries(rows[:1]) == queries(rows[1:])


def test_jobs_of_removed_documents_end(acme: World) -> None:
    queued = make_job(acme.document, "queued")
    running = make_job(acme.document, "queued")
    running.start()
    hide(acme, acme.document)
    states = IngestionJob.objects.filter(pk__in=[queued.pk, running.pk])
    assert set(states.values_list("state", "lease")) == {("cancelled", None)}
    assert not running.progress("embedding")


def test_a_job_that_was_about_to_swap_loses_its_document(
    embedding_server: EmbeddingServer, acme: World, monkeypatch: Any
) -> None:
    from ingestion import ingest as module

    job = receive(acme.other_agent, name="yeni.md", data=b"# Yeni\n\nYeni bir metin.")
    swap, lost = module.swap, []

    def late(*args: Any) -> None:
        removal.hide(job.tenant_id, job.agent_id, [job.document_id])
        try:
            swap(*args)
        except JobLost as error:
            lost.append(error)
            raise

    monkeypatch.setattr(module, "swap", late)
    ingest(job.pk)
    assert len(lost) == 1
    assert not Passage.objects.filter(document=job.document_id).exists()


def test_its_address_is_free_at_once_and_the_purge_leaves_the_new_document_alone(
    acme: World,
) -> None:
    hide(acme, acme.document)
    job = receive(acme.agent, name="iade.md", data=b"# Yeni\n\nYeni bir metin.")
    assert job.document_id != acme.document.pk
    while removal.purge():
        pass
    assert Document.with_removed.get(agent=acme.agent).pk == job.document_id
    assert default_storage.exists(job.file)


def test_what_was_removed_counts_for_no_quota(acme: World) -> None:
    before = quotas.used(acme.tenant.pk)
    hide(acme, acme.document)
    after = quotas.used(acme.tenant.pk)
    assert (before.documents, after.documents) == (2, 1)
    assert (before.passages, after.passages) == (3, 1)


def test_the_purge_leaves_nothing_behind(acme: World) -> None:
    failed = make_job(acme.document, "failed", error_code="x")
    other = f"{acme.tenant.pk}/{acme.document.pk}/other"
    failed.file = default_storage.save(other, default_storage.open(acme.document.file))
    failed.save()
    valkey().hset(f"{KEPT_UNDER}{failed.pk}", "a", "b")
    hide(acme, acme.document)
    assert removal.purge() == 1
    assert removal.purge() == 0
    assert left_of(acme.document) == []
    assert not default_storage.exists(acme.document.file)
    assert not default_storage.exists(failed.file)
    assert not valkey().exists(f"{KEPT_UNDER}{failed.pk}")


def test_the_purge_goes_batch_by_batch_until_nothing_is_left(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(removal, "AT_ONCE", 2)
    monkeypatch.setattr(removal, "send", sent.append)
    hide(acme, *many(acme, 3))
    tasks.purge_removed()
    assert removal.waiting().count() == 1
    tasks.purge_removed()
    assert removal.waiting().count() == 0
    tasks.purge_removed()
    assert sent == [tasks.purge_removed] * 2


def test_the_sweep_hands_out_again_what_nobody_purges(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[Any] = []
    monkeypatch.setattr(removal, "send", sent.append)
    hide(acme, acme.document)
    tasks.sweep()
    assert sent == []
    removal.waiting().update(removed_at=timezone.now() - timedelta(minutes=2))
    tasks.sweep()
    assert sent == [tasks.purge_removed]


@pytest.mark.django_db(transaction=True)
def test_it_waits_for_a_swap_instead_of_deadlocking_with_it(acme: World) -> None:
    """A swap locks the index, then the document; so it must be able to, whoever waits for it."""
    swap = psycopg.connect(**connection.get_connection_params())
    swap.execute("SELECT 1 FROM ingestion_index WHERE id = %s FOR UPDATE", [acme.index.pk])
    actor = threading.Thread(target=_hide_apart, args=(acme,))
    actor.start()
    _wait_until_someone_waits_for(swap)
    swap.execute("SET lock_timeout = '2s'")
    swap.execute("SELECT 1 FROM ingestion_document WHERE id = %s FOR UPDATE", [acme.document.pk])
    assert not removal.waiting().exists()
    swap.commit()
    swap.close()
    actor.join(timeout=30)
    assert not actor.is_alive()
    assert removal.waiting().count() == 1


def _hide_apart(world: World) -> None:
    try:
        hide(world, world.document)
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


@pytest.mark.django_db(transaction=True)
def test_the_doctor_finds_what_a_killed_purge_left_and_finishes_it(
    acme: World, settings: Any
) -> None:
    hide(acme, acme.document)
    worker = subprocess.Popen(
        [sys.executable, "-c", KILLED],
        cwd=django_settings.BASE_DIR,
        env={**os.environ, **ENVIRONMENT, **services(), "MEDIA_ROOT": settings.MEDIA_ROOT},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert worker.stdout is not None
    assert worker.stdout.readline() == "files are gone\n"
    worker.kill()
    worker.wait()
    assert left_of(acme.document) == [Passage, Word, IngestionJob]
    assert "removal_unfinished" not in {one.code for one in examine()}  # it may be at work yet
    found = [one for one in examine(timedelta(0)) if one.where == f"agent {acme.agent.pk}"]
    assert [one.code for one in found] == ["removal_unfinished"]
    assert found[0].repair is not None
    assert found[0].repair() == "1 purged"
    assert left_of(acme.document) == []
    assert not any(one.code.startswith("removal") for one in examine(timedelta(0)))
