"""A scratch tenant: a dataset's corpus, loaded as ingestion would leave it, removed afterwards.

Every row of the corpus becomes a document of one passage. Segments, lexemes, vocabulary and index
rows are made and written by ingestion's own functions, so the statement finds what it finds in
production. A scratch tenant is inactive: no key and no member opens it.

The run holds an advisory lock named for its tenant. A scratch tenant whose lock is free was left
by a run that was killed, and the next run removes it.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from django.db import connection, transaction

from dolphy import embedding
from dolphy.embedding import Vectors
from ingestion import graph
from ingestion.analyse import analyse_passage, normalise, surface_forms
from ingestion.embed import text_key
from ingestion.indexes import index_for
from ingestion.models import Document, Index
from ingestion.parsing.language import detect_language
from ingestion.segment import Segment
from ingestion.swap import Prepared, _count, _write_index_rows, _write_passages, write_words
from retrieval.evaluation.dataset import Dataset, Row
from retrieval.evaluation.vectors import Progress, vectors_for
from tenants.models import Agent, Tenant

NAME = "Evaluation (scratch)"
PREFIX = "scratch-"
AGENT = "evaluation"
_SLUG = re.compile(r"scratch-[0-9a-f]{32}")
_SAMPLE = 200


@contextmanager
def loaded(dataset: Dataset, progress: Progress, language: str | None = None) -> Iterator[Agent]:
    """An agent that holds the corpus, gone again when the block ends, however it ends."""
    embedder = embedding.configured()
    segments = [_segment(row, embedder) for row in dataset.corpus]
    vectors = vectors_for(embedder, [part.whole for part in segments], progress)
    tenant = _claimed()
    try:
        agent = Agent.objects.create(
            tenant=tenant, slug=AGENT, name=NAME, language=language or language_of(dataset)
        )
        _load(agent, dataset.corpus, segments, vectors)
        yield agent
    finally:
        _remove(tenant)


def language_of(dataset: Dataset) -> str:
    """The language of the corpus; Turkish when that is not clear."""
    sample = " ".join(row.text[:500] for row in dataset.corpus[:_SAMPLE])
    return detect_language(sample) or "tr"


def remove_leftovers() -> int:
    """Remove the scratch tenants of runs that were killed; how many there were."""
    rows = Tenant.objects.filter(slug__startswith=PREFIX, name=NAME, is_active=False)
    dead = [row for row in rows if _SLUG.fullmatch(row.slug) and _lock(row)]
    for tenant in dead:
        _remove(tenant)
    return len(dead)


def _segment(row: Row, embedder: embedding.Embedder) -> Segment:
    segment = Segment(title=row.title, heading=(), page=None, text=row.text, tokens=0)
    return Segment(row.title, (), None, row.text, embedder.count_tokens(segment.whole))


def _claimed() -> Tenant:
    """A new scratch tenant, its lock taken before it can be seen."""
    tenant = Tenant(slug=f"{PREFIX}{uuid.uuid4().hex}", name=NAME, is_active=False)
    _lock(tenant)
    tenant.save(force_insert=True)
    return tenant


def _load(agent: Agent, rows: Sequence[Row], segments: Sequence[Segment], vectors: Vectors) -> None:
    index = index_for(agent)
    with transaction.atomic():
        for row, segment, vector in zip(rows, segments, vectors, strict=True):
            _write(agent, index, row, segment, vector[None, :])
        _count(index, len(rows))
    index.refresh_from_db()
    graph.fit_now(index)
    _settle()


def _write(agent: Agent, index: Index, row: Row, segment: Segment, vector: Vectors) -> None:
    data = row.text.encode()
    document = Document.objects.create(
        tenant_id=agent.tenant_id,
        agent=agent,
        uri=row.id,
        title=row.title[:500],
        state=Document.State.READY,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
        media_type="text/plain",
        language=agent.language,
        passage_count=1,
    )
    prepared = _prepared(agent, segment).with_vectors(vector)
    _write_index_rows(document, index, _write_passages(document, [segment]), prepared)
    write_words(document, prepared.words)


def _prepared(agent: Agent, segment: Segment) -> Prepared:
    return Prepared(
        title=segment.title,
        media_type="text/plain",
        language=agent.language,
        report={},
        segments=[segment],
        lexemes=[analyse_passage(segment.whole, agent.language)],
        same_text=[text_key(normalise(segment.text))],
        words=Counter(surface_forms(segment.whole, agent.language)),
    )


def _settle() -> None:
    """Current statistics, as autovacuum keeps them for a table in use."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ingestion_indexedpassage")


def _remove(tenant: Tenant) -> None:
    """The graph first (it is no row), then everything that hangs on the tenant."""
    for index in Index.objects.filter(tenant=tenant, has_graph=True).select_related("space"):
        graph.drop(index)
    Tenant.objects.filter(pk=tenant.pk).delete()
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [tenant.slug])


def _lock(tenant: Tenant) -> bool:
    """Take the tenant's lock for this connection; False when a living run holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [tenant.slug])
        return bool(cursor.fetchone()[0])
