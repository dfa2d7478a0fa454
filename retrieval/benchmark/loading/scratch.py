"""A scratch tenant with all that a run makes, gone again when the run ends.

What is no row of the tenant's bears its name: a schema for tables of the benchmark's own, a
database and a folder that workers are measured on, and an advisory lock. A tenant whose lock is
free was left by a run that was killed, and the next run removes it with the rest.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection
from psycopg import sql

from ingestion import files, graph
from ingestion.models import Index, IndexedPassage, IngestionJob
from retrieval.benchmark.ingesting import ground
from retrieval.benchmark.progress import told
from retrieval.evaluation.progress import Tell
from tenants.models import Tenant

NAME, PREFIX = "Benchmark (scratch)", "benchmark-"
DOCUMENTS_AT_ONCE = 500


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


def schema(owner: Tenant) -> sql.Identifier:
    """Where tables that belong to this run may lie; made when missing."""
    name = sql.Identifier(owner.slug)
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(name))
    return name


def settle() -> None:
    """As autovacuum keeps a table in use: dead rows gone, statistics current."""
    with told("vacuum and analyze"), connection.cursor() as cursor:
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


def _remove(owner: Tenant) -> None:
    """Graphs, files and tables first, for they are no rows; then the many rows, a part at a time;
    then everything that hangs on the tenant."""
    for index in Index.objects.filter(tenant=owner, has_graph=True).select_related("space"):
        graph.drop(index)
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(owner.slug))
        )
    jobs = IngestionJob.objects.filter(tenant=owner).values_list("file", flat=True)
    files.discard(*set(jobs))
    ground.clear(owner.slug)
    with told(f"removing {owner.slug}") as tell:
        _delete_rows(owner, tell)
    Tenant.objects.filter(pk=owner.pk).delete()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ingestion_indexedpassage, ingestion_passage, ingestion_document")
        cursor.execute("SELECT pg_advisory_unlock(hashtextextended(%s, 0))", [owner.slug])


def _delete_rows(owner: Tenant, tell: Tell) -> None:
    """The narrow rows by their index, then documents, whose passages cascade: the other way round
    PostgreSQL would look for the narrow row of every single passage."""
    indexes = list(Index.objects.filter(tenant=owner).values_list("pk", flat=True))
    with connection.cursor() as cursor:
        cursor.execute("SELECT id FROM ingestion_document WHERE tenant_id = %s", [owner.pk])
        documents = [key for (key,) in cursor]
        total = len(indexes) + len(documents)
        for number, index in enumerate(indexes, 1):
            cursor.execute(
                "DELETE FROM ingestion_indexedpassage WHERE index_id = %s AND tenant_id = %s",
                [index, owner.pk],
            )
            tell(number, total)
        for start in range(0, len(documents), DOCUMENTS_AT_ONCE):
            some = documents[start : start + DOCUMENTS_AT_ONCE]
            cursor.execute(
                "DELETE FROM ingestion_document WHERE id = ANY(%s) AND tenant_id = %s",
                [some, owner.pk],
            )
            tell(len(indexes) + start + len(some), total)


def _lock(owner: Tenant) -> bool:
    """Take the tenant's lock for this connection; False when a living run holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [owner.slug])
        return bool(cursor.fetchone()[0])
