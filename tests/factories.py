"""Rows for tests: whole tenants made directly, as ingestion would leave them.

Vectors come from the embedder that the settings name, so a question really finds what is here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import Any

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone

from dolphy import embedding
from ingestion.analyse import analyse_passage, normalise
from ingestion.crawl.models import Page, Sync, Website
from ingestion.embed import text_key
from ingestion.indexes import index_for
from ingestion.ingest import ingest
from ingestion.models import (
    CommonLexeme,
    Document,
    EmbeddingUse,
    Index,
    IndexProbe,
    IngestionJob,
    Passage,
    SpaceProbe,
    Turn,
    Word,
)
from ingestion.receive import receive
from ingestion.swap import index_rows
from retrieval.models import Trace
from tenants.models import Agent, ApiKey, Membership, Tenant, User

QUESTION = "İade süresi kaç gün?"


@dataclass(frozen=True)
class World:
    """One tenant with something of everything; `key` may do all that a key can."""

    tenant: Tenant
    user: User
    agent: Agent
    other_agent: Agent
    index: Index
    document: Document
    job: IngestionJob
    trace: Trace
    website: Website
    sync: Sync
    key: ApiKey
    secret: str

    @property
    def client(self) -> Client:
        return caller(self.secret)


def caller(secret: str | None) -> Client:
    """A program that calls the API with this key, or with none."""
    return Client(headers={"Authorization": f"Bearer {secret}"} if secret else {})


def make_world(slug: str) -> World:
    """The tenant, its documents saying its own name so that a leak would show."""
    tenant = Tenant.objects.create(slug=slug, name=slug.capitalize())
    user = User.objects.create_user(f"admin@{slug}.example")
    Membership.objects.create(tenant=tenant, user=user)
    agent, other = make_agent(tenant, "help"), make_agent(tenant, "shop")
    document = make_document(
        agent,
        "iade.md",
        [f"{slug} iade süresi 14 gündür.", f"{slug} kargo ücreti 50 liradır."],
    )
    job = make_job(document)
    make_document(other, "magaza.md", [f"{slug} mağazaları hafta sonu açıktır."])
    trace = Trace.objects.create(
        tenant=tenant, agent=agent, question=f"{slug} {QUESTION}", record={"candidates": []}
    )
    website, sync = make_website(document)
    key, secret = ApiKey.issue(tenant, "all")
    index = index_for(agent)
    CommonLexeme.objects.create(tenant=tenant, index=index, lexeme=f"{index.pk}:iade", passages=60)
    IndexProbe.objects.create(
        tenant=tenant, agent=agent, index=index, compared=2, median=1, lowest=1
    )
    SpaceProbe.objects.create(space=index.space, compared=2, median=1, lowest=1)
    Turn.objects.create(tenant=tenant, served_at=timezone.now())
    EmbeddingUse.objects.create(tenant=tenant, space=index.space, day=date(2030, 1, 1), tokens=9)
    return World(
        tenant, user, agent, other, index, document, job, trace, website, sync, key, secret
    )


def make_website(document: Document) -> tuple[Website, Sync]:
    """A website that has been crawled once, its one page being this document."""
    owner = {"tenant_id": document.tenant_id, "agent_id": document.agent_id}
    website = Website.objects.create(**owner, url="http://203.0.113.7/")
    sync = Sync.objects.create(**owner, website=website, number=1, state=Sync.State.COMPLETE)
    Page.objects.create(
        **owner, website=website, document=document, url=website.url, seen=1, state=Page.State.DONE
    )
    return website, sync


def make_agent(tenant: Tenant, slug: str, **fields: Any) -> Agent:
    return Agent.objects.create(tenant=tenant, slug=slug, name=slug.capitalize(), **fields)


def make_document(agent: Agent, uri: str, texts: Sequence[str], **fields: Any) -> Document:
    """A ready document whose passages are these texts, indexed, its file stored."""
    data = "\n\n".join(texts).encode()
    sha256 = hashlib.sha256(data).hexdigest()
    document = Document.objects.create(
        tenant=agent.tenant,
        agent=agent,
        uri=uri,
        state=Document.State.READY,
        sha256=sha256,
        size=len(data),
        media_type="text/markdown",
        language=agent.language,
        passage_count=len(texts),
        **{"title": uri.split(".")[0].capitalize(), **fields},
    )
    document.file = default_storage.save(
        f"{agent.tenant_id}/{document.pk}/{sha256}", ContentFile(data)
    )
    document.save()
    _index(document, texts)
    return document


def make_job(
    document: Document, state: str = IngestionJob.State.SUCCEEDED, **fields: Any
) -> IngestionJob:
    return IngestionJob.objects.create(
        tenant_id=document.tenant_id,
        agent_id=document.agent_id,
        document=document,
        state=state,
        name=document.uri,
        sha256=document.sha256,
        size=document.size,
        file=document.file,
        **fields,
    )


def _index(document: Document, texts: Sequence[str]) -> None:
    owner = {"tenant_id": document.tenant_id, "agent_id": document.agent_id, "document": document}
    passages = [
        Passage.objects.create(
            **owner, position=number, text=text, tokens=len(text.split()), heading=["Başlık"]
        )
        for number, text in enumerate(texts)
    ]
    Word.objects.create(**owner, folded="iade", surface="iade", count=1)
    index = index_for(document.agent)
    index_rows(
        document,
        index,
        [
            (
                passage.pk,
                passage.position,
                passage.text,
                text_key(normalise(passage.text)),
                analyse_passage(passage.text, document.agent.language),
                _vector(passage.text),
            )
            for passage in passages
        ],
    )
    if document.enabled:
        Index.objects.filter(pk=index.pk).update(passages=index.passages + len(passages))


@lru_cache(maxsize=1000)
def _vector(text: str) -> tuple[float, ...]:
    return tuple(embedding.configured().embed_passages([text])[0].tolist())


def ingest_text(agent: Agent, uri: str, text: str) -> Document:
    """A Markdown document that went the whole way of ingestion, in this process."""
    job = receive(agent, name=uri, data=text.encode(), uri=uri)
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == IngestionJob.State.SUCCEEDED, f"{job.error_code}: {job.error}"
    return Document.objects.get(pk=job.document_id)
