"""What a tenant may keep, and that two uploads at once cannot both take the last place."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from django.db import connection

from dolphy.errors import DolphyError
from ingestion import documents, quotas
from ingestion.errors import QuotaBytes, QuotaDocuments, QuotaPassages
from ingestion.ingest import ingest
from ingestion.models import Document, IngestionJob, Passage
from ingestion.quotas import Amounts, quota_of, used
from ingestion.receive import receive
from ingestion.unpack import receive_any
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer
from tests.factories import ingest_text, make_agent
from tests.ingestion.test_receive import archive

State = IngestionJob.State


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer) -> Agent:
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


def allow(agent: Agent, **quota: int | None) -> None:
    Tenant.objects.filter(pk=agent.tenant_id).update(**quota)


def upload(agent: Agent, name: str, text: str = "# A\n\nbir") -> IngestionJob:
    return receive(agent, name=name, data=text.encode())


def test_without_bounds_nothing_is_refused(agent: Agent, settings: Any) -> None:
    assert quota_of(agent.tenant_id) == Amounts(None, None, None)
    upload(agent, "a.md")


def test_the_bounds_of_a_tenant_go_before_those_of_the_installation(
    agent: Agent, settings: Any
) -> None:
    settings.QUOTA_DOCUMENTS, settings.QUOTA_BYTES = 5, 500
    allow(agent, max_documents=7)
    assert quota_of(agent.tenant_id) == Amounts(7, 500, None)


def test_the_bound_of_the_installation_holds_for_every_tenant(agent: Agent, settings: Any) -> None:
    settings.QUOTA_DOCUMENTS = 1
    upload(agent, "a.md")
    with pytest.raises(QuotaDocuments):
        upload(agent, "b.md")


def test_a_document_too_many_is_refused_and_leaves_nothing(agent: Agent) -> None:
    allow(agent, max_documents=2)
    upload(agent, "a.md")
    upload(agent, "b.md")
    with pytest.raises(QuotaDocuments) as refused:
        upload(agent, "c.md")
    assert (refused.value.status, refused.value.code) == (403, "quota_documents")
    assert "The limit is 2" in refused.value.message
    assert not Document.objects.filter(uri="c.md").exists()


def test_a_new_version_is_no_new_document(agent: Agent) -> None:
    allow(agent, max_documents=1)
    ingest_text(agent, "a.md", "# A\n\nbir")
    ingest_text(agent, "a.md", "# A\n\niki")


def test_another_tenants_documents_do_not_count(agent: Agent) -> None:
    allow(agent, max_documents=1)
    other = make_agent(Tenant.objects.create(slug="globex", name="Globex"), "help")
    for name in ("a.md", "b.md"):
        upload(other, name)
    upload(agent, "a.md")


def test_all_agents_of_a_tenant_count_together(agent: Agent) -> None:
    allow(agent, max_documents=1)
    upload(agent, "a.md")
    with pytest.raises(QuotaDocuments):
        upload(make_agent(agent.tenant, "shop"), "a.md")


def test_bytes_are_counted_with_what_is_still_at_work(agent: Agent) -> None:
    allow(agent, max_bytes=100)
    upload(agent, "a.md", "a" * 60)
    with pytest.raises(QuotaBytes):
        upload(agent, "b.md", "b" * 50)
    upload(agent, "b.md", "b" * 40)


def test_a_version_counts_once_and_a_smaller_one_is_always_let_in(agent: Agent) -> None:
    allow(agent, max_bytes=100)
    ingest_text(agent, "a.md", "a" * 90)
    upload(agent, "a.md", "b" * 95)
    with pytest.raises(QuotaBytes):
        upload(agent, "a.md", "b" * 101)
    allow(agent, max_bytes=10)
    upload(agent, "a.md", "c" * 80)


def test_bytes_come_back_with_a_deletion(agent: Agent) -> None:
    allow(agent, max_bytes=100)
    document = ingest_text(agent, "a.md", "a" * 90)
    documents.delete(document)
    assert used(agent.tenant_id) == Amounts(0, 0, 0)
    upload(agent, "b.md", "b" * 90)


def test_a_title_is_changed_however_full_it_is(agent: Agent) -> None:
    document = ingest_text(agent, "a.md", "# A\n\nbir")
    allow(agent, max_documents=0, max_bytes=0, max_passages=0)
    documents.rename(document, "Yeni ad")
    ingest(IngestionJob.objects.latest("created_at").pk)
    assert IngestionJob.objects.latest("created_at").state == State.SUCCEEDED


def many(count: int) -> str:
    return "\n\n".join(f"# Konu {n}\n\nMetin {n}." for n in range(count))


def test_a_document_of_too_many_passages_fails_before_it_is_paid_for(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    allow(agent, max_passages=5)
    job = upload(agent, "a.md", many(6))
    ingest(job.pk)
    job.refresh_from_db()
    job.document.refresh_from_db()
    assert (job.state, job.error_code) == (State.FAILED, "quota_passages")
    assert "This document has 6" in job.error
    assert job.document.state == "attention"
    assert embedding_server.embedded == []


def test_the_last_version_stays_when_the_new_one_has_too_many_passages(agent: Agent) -> None:
    allow(agent, max_passages=5)
    document = ingest_text(agent, "a.md", many(5))
    ingest(upload(agent, "a.md", many(6)).pk)
    document.refresh_from_db()
    assert (document.state, document.passage_count) == ("ready", 5)
    ingest_text(agent, "a.md", many(4))


def test_a_full_tenant_is_told_at_the_upload(agent: Agent) -> None:
    allow(agent, max_passages=5)
    ingest_text(agent, "a.md", many(5))
    with pytest.raises(QuotaPassages):
        upload(agent, "b.md")


def test_room_that_others_took_meanwhile_is_noticed_at_the_end(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    allow(agent, max_passages=5)
    late = upload(agent, "late.md", many(3))
    ingest_text(agent, "a.md", many(3))
    monkeypatch.setattr("ingestion.ingest.check_passages", lambda *_: None)
    ingest(late.pk)
    late.refresh_from_db()
    assert (late.state, late.error_code) == (State.FAILED, "quota_passages")
    assert Passage.objects.count() == 3


def test_members_of_an_archive_fill_what_is_left(agent: Agent) -> None:
    allow(agent, max_documents=2)
    data = archive(**{f"{n}.md": b"# A\n\nbir" for n in range(3)})
    received = receive_any(agent, name="kit.zip", data=data)
    assert len(received.jobs) == 2
    assert [(uri, error.code) for uri, error in received.refused] == [
        ("kit.zip/2.md", "quota_documents")
    ]


@pytest.mark.django_db(transaction=True)
def test_two_uploads_at_once_do_not_both_take_the_last_place(agent: Agent) -> None:
    allow(agent, max_documents=3)
    start, refused = threading.Barrier(8), []

    def run(number: int) -> None:
        try:
            start.wait()
            upload(agent, f"{number}.md")
        except DolphyError as error:
            refused.append(error.code)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert refused == ["quota_documents"] * 5
    assert Document.objects.count() == 3


def test_a_tenant_without_bounds_is_neither_locked_nor_counted(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    def counted(*args: Any, **options: Any) -> None:
        pytest.fail("it was counted")

    monkeypatch.setattr(quotas, "used", counted)
    ingest_text(agent, "a.md", "# A\n\nbir")
