"""A large index gets an HNSW graph of its own; a small one is scanned exactly.

One graph shared by all agents loses rows to the filter and recall with them; a partial graph over
one index has nothing to filter. Up to `EXACT_UP_TO` passages an exact scan is as fast and never
misses. The system decides, after every ingestion, with room between growing and shrinking so that
the decision does not flap. The graph is built without blocking anyone; until it is there the index
is scanned exactly: slower, and right.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction
from django.db.models import Q
from psycopg import sql

from ingestion.models import Index
from ingestion.queue import send
from ingestion.statistics import refresh

EXACT_UP_TO = 1_000
GRAPH_DOWN_TO = 500
STATISTICS_FROM = 500
NEIGHBOURS, BUILD_DEPTH = 16, 100
GRAPH_LOCK = 7_201  # with the index's id: whoever holds it builds or drops that graph
_PREFIX = "indexed_passage_graph_"


def fit(index: Index) -> None:
    """Hand the work to a task when the index has outgrown, or undergrown, what it has."""
    index.refresh_from_db()
    if wants_graph(index) != index.has_graph or wants_statistics(index):
        from ingestion.tasks import fit_index

        transaction.on_commit(lambda: send(fit_index, index.pk))


def fit_now(index: Index) -> None:
    """Build or drop the graph, and count the common lexemes anew.

    Safe to run twice, and at the same time: whoever comes second leaves it to the first.
    """
    with _alone(index) as alone:
        if not alone:
            return
        index.refresh_from_db()
        if wants_statistics(index):
            refresh(index)
        if wants_graph(index) and not index.has_graph:
            build(index)
        elif index.has_graph and not wants_graph(index):
            drop(index)


def fit_missed() -> int:
    """Hand out what `fit` could not, because the queue was away; returns how many indexes."""
    serving = Index.objects.filter(state=Index.State.SERVING)
    large = Q(has_graph=False, passages__gt=EXACT_UP_TO)
    small = Q(has_graph=True, passages__lte=GRAPH_DOWN_TO)
    missed = list(serving.filter(large | small)[:100])
    for index in missed:
        fit(index)
    return len(missed)


@contextmanager
def _alone(index: Index) -> Iterator[bool]:
    """Whether nobody else fits this index; the lock goes with the connection, if that is lost."""
    values = [GRAPH_LOCK, index.pk]
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", values)
        (alone,) = cursor.fetchone()
    try:
        yield alone
    finally:
        if alone:
            with connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s, %s)", values)


def wants_graph(index: Index) -> bool:
    return index.passages > (GRAPH_DOWN_TO if index.has_graph else EXACT_UP_TO)


def wants_statistics(index: Index) -> bool:
    """Large enough to need them, and a fifth larger or smaller than when they were taken."""
    known = index.passages_at_statistics
    return index.passages >= STATISTICS_FROM and abs(index.passages - known) * 5 > known


def name_of(index: Index) -> str:
    return f"{_PREFIX}{index.pk}"


def covered_by(index: int) -> sql.Composed:
    """The condition by which a graph holds the rows of one index, and a search asks for them.

    A literal, for only that selects a partial index; `+ 0`, so that no other index answers to it
    and a wrong estimate cannot turn the search of a large agent into a scan of all its rows.
    """
    return sql.SQL("index_id + 0 = {}").format(sql.Literal(index))


def build(index: Index) -> None:
    """CREATE INDEX CONCURRENTLY, so searches and ingestion go on. A broken leftover is replaced."""
    graph = sql.Identifier(name_of(index))
    width = sql.Literal(index.space.dimensions)
    _drop(name_of(index))
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(
                "CREATE INDEX CONCURRENTLY {} ON ingestion_indexedpassage "
                "USING hnsw ((vector::halfvec({})) halfvec_cosine_ops) "
                "WITH (m = {}, ef_construction = {}) WHERE {}"
            ).format(
                graph,
                width,
                sql.Literal(NEIGHBOURS),
                sql.Literal(BUILD_DEPTH),
                covered_by(index.pk),
            )
        )
    _mark(index, has_graph=True)


def drop(index: Index) -> None:
    """The flag first: no search may ask for a graph that is gone."""
    _mark(index, has_graph=False)
    _drop(name_of(index))


def orphans() -> list[str]:
    """The names of graphs whose index row is gone: deleting an agent deletes rows, not indexes."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
            "WHERE indrelid = 'ingestion_indexedpassage'::regclass AND relname ~ %(graph)s "
            "AND NOT EXISTS (SELECT FROM ingestion_index "
            "WHERE id = substring(relname FROM %(graph)s)::integer) ORDER BY relname",
            {"graph": f"^{_PREFIX}([0-9]+)$"},
        )
        return [name for (name,) in cursor]


def drop_orphans() -> int:
    """Drop them, and say how many there were. Runs outside a transaction, as `drop` does."""
    names = orphans()
    for name in names:
        _drop(name)
    return len(names)


def _drop(name: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("DROP INDEX CONCURRENTLY IF EXISTS {}").format(sql.Identifier(name)))


def _mark(index: Index, *, has_graph: bool) -> None:
    Index.objects.filter(pk=index.pk, tenant=index.tenant_id).update(has_graph=has_graph)
    index.has_graph = has_graph
