"""A scratch tenant with agents of the sizes asked for, gone again when the run ends.

Rows are written by ingestion's own functions, so the tables look as ingestion leaves them; only the
texts and vectors are invented. The run holds an advisory lock named for its tenant; one whose lock
is free was left by a run that was killed, and the next run removes it.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from django.db import connection, transaction

from dolphy.embedding import Vectors
from ingestion import files, graph
from ingestion.embed import text_key
from ingestion.indexes import index_for
from ingestion.models import Document, Index, IndexedPassage, IngestionJob, Passage
from ingestion.swap import index_rows
from retrieval.benchmark.invent import Inventor
from retrieval.evaluation.progress import Tell
from tenants.models import Agent, Tenant

NAME, PREFIX = "Benchmark (scratch)", "benchmark-"
PASSAGES_A_DOCUMENT = 20
DOCUMENTS_A_BATCH = 50


@contextmanager
def tenant() -> Iterator[Tenant]:
    """A new tenant, removed with all that it owns when the block ends, however it ends."""
    for left in Tenant.objects.filter(slug__startswith=PREFIX, name=NAME):
        if _lock(left):
            _remove(left)
    made = Tenant(slug=f"{PREFIX}{uuid.uuid4().hex[:12]}", name=NAME)
    _lock(made)
    made.save(force_insert=True)
    try:
        yield made
    finally:
        _remove(made)


def load(owner: Tenant, slug: str, size: int, inventor: Inventor, tell: Tell) -> Vectors:
    """An agent with `size` passages, its graph and statistics made; returns some of its vectors."""
    agent = Agent.objects.create(tenant=owner, slug=slug, name=slug, language="tr")
    index = index_for(agent)
    vectors = inventor.vectors(size)
    step = PASSAGES_A_DOCUMENT * DOCUMENTS_A_BATCH
    for start in range(0, size, step):
        with transaction.atomic():
            for first in range(start, min(start + step, size), PASSAGES_A_DOCUMENT):
                _write(agent, index, inventor, first, vectors[first : first + PASSAGES_A_DOCUMENT])
        tell(min(start + step, size), size)
    Index.objects.filter(pk=index.pk, tenant=owner).update(passages=size)
    index.refresh_from_db()
    graph.fit_now(index)
    return vectors[:: max(1, size // 500)]


def settle() -> None:
    """As autovacuum keeps a table in use: dead rows gone, statistics current."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE) ingestion_indexedpassage")
        cursor.execute("ANALYZE ingestion_passage, ingestion_document, ingestion_commonlexeme")


def table_size() -> int:
    """Rows of the narrow table, of all tenants."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM ingestion_indexedpassage")
        return int(cursor.fetchone()[0])


def rows_of(owner: Tenant) -> int:
    """Rows of the narrow table that belong to one tenant."""
    return IndexedPassage.objects.filter(tenant=owner).count()


def _write(agent: Agent, index: Index, inventor: Inventor, first: int, vectors: Vectors) -> None:
    """One document with a passage a vector."""
    owner = {"tenant_id": agent.tenant_id, "agent_id": agent.pk}
    document = Document.objects.create(
        **owner,
        uri=f"document-{first:07d}.md",
        title=f"Document {first}",
        state=Document.State.READY,
        passage_count=len(vectors),
    )
    invented = [inventor.passage() for _ in vectors]
    passages = Passage.objects.bulk_create(
        Passage(
            **owner, document=document, position=number, text=one.text, tokens=150, heading=["A"]
        )
        for number, one in enumerate(invented)
    )
    index_rows(
        document,
        index,
        [
            (passage.pk, passage.position, one.text, text_key(one.text), one.lexemes, vector)
            for passage, one, vector in zip(passages, invented, np.asarray(vectors), strict=True)
        ],
    )


def _remove(owner: Tenant) -> None:
    """Graphs and files first, for they are no rows; then everything that hangs on the tenant."""
    for index in Index.objects.filter(tenant=owner, has_graph=True).select_related("space"):
        graph.drop(index)
    jobs = IngestionJob.objects.filter(tenant=owner).values_list("file", flat=True)
    files.discard(*set(jobs))
    Tenant.objects.filter(pk=owner.pk).delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [owner.slug])


def _lock(owner: Tenant) -> bool:
    """Take the tenant's lock for this connection; False when a living run holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [owner.slug])
        return bool(cursor.fetchone()[0])
