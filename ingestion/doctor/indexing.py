"""Indexes: their counts, graphs and statistics, and those that nothing reads any more."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion import graph, statistics
from ingestion.doctor.finding import Finding
from ingestion.models import Index, IndexedPassage
from ingestion.retired import GRACE, remove_retired

_GRAPHS = """
    SELECT relname, indisvalid
    FROM pg_index
    JOIN pg_class ON pg_class.oid = indexrelid
    WHERE indrelid = 'ingestion_indexedpassage'::regclass
        AND relname LIKE 'indexed\\_passage\\_graph\\_%'
        AND indexrelid NOT IN (SELECT index_relid FROM pg_stat_progress_create_index)
"""
_BEING_BUILT = "SELECT EXISTS (SELECT FROM pg_stat_progress_create_index)"


def miscounted_indexes() -> Iterator[Finding]:
    """An index decides by its count how it is searched."""
    for index in _serving():
        found = _enabled(index)
        if found != index.passages:
            what = f"It says {index.passages} passages, and {found} are enabled."
            yield Finding("index_miscounted", f"index {index.pk}", what, _recount(index))


def graphs() -> Iterator[Finding]:
    """Graphs that are missing, broken, needless, or of an index that is gone."""
    with connection.cursor() as cursor:
        cursor.execute(_GRAPHS)
        valid = dict(cursor.fetchall())
        cursor.execute(_BEING_BUILT)
        (being_built,) = cursor.fetchone()
    for name in graph.orphans():
        yield Finding("graph_stray", name, "Its index is gone.", _drop_orphans)
    for index in _serving():
        wrong = _wrong_with(index, valid.get(graph.name_of(index)), being_built)
        if wrong:
            yield Finding(f"graph_{wrong[0]}", f"index {index.pk}", wrong[1], _fit(index))


def _wrong_with(index: Index, valid: bool | None, being_built: bool) -> tuple[str, str] | None:
    """`valid` is None for a graph that is not there."""
    if index.has_graph and valid is None:
        return "missing", "It should have a graph, and there is none."
    if valid is False:
        return "broken", "Building its graph was broken off."
    if graph.wants_graph(index) and not index.has_graph and not being_built:
        return "missing", f"{index.passages} passages are searched one by one."
    if (valid or index.has_graph) and not graph.wants_graph(index):
        return "needless", f"It has a graph for {index.passages} passages."
    if valid and not index.has_graph:
        return "unused", "It has a graph that no search uses."
    return None


def old_statistics() -> Iterator[Finding]:
    """Counts of common words that were taken when the index was much smaller or larger."""
    for index in _serving():
        if graph.wants_statistics(index):
            what = f"Counted at {index.passages_at_statistics} passages, now {index.passages}."
            yield Finding("statistics_old", f"index {index.pk}", what, _refresh(index))


def retired() -> Iterator[Finding]:
    """Indexes that others have replaced, and that are still there."""
    overdue = Index.objects.filter(
        state=Index.State.RETIRED, retired_at__lt=timezone.now() - 2 * GRACE
    )
    for index in overdue:
        yield Finding("index_retired", f"index {index.pk}", "Nothing reads it.", _remove_retired)


def _serving() -> QuerySet[Index]:
    serving = Index.objects.select_related("space").filter(state=Index.State.SERVING)
    return serving.order_by("pk")


def _enabled(index: Index) -> int:
    return IndexedPassage.objects.filter(
        tenant=index.tenant_id, index=index.pk, enabled=True
    ).count()


def _recount(index: Index) -> Callable[[], str]:
    def repair() -> str:
        with transaction.atomic():
            rows = Index.objects.filter(pk=index.pk, tenant=index.tenant_id)
            rows.select_for_update(no_key=True).get()
            rows.update(passages=_enabled(index))
        return "counted"

    return repair


def _fit(index: Index) -> Callable[[], str]:
    """The flag goes first, so that no search asks for a graph that is being replaced."""

    def repair() -> str:
        index.refresh_from_db()
        graph.drop(index)
        graph.fit_now(index)
        return "built" if index.has_graph else "removed"

    return repair


def _refresh(index: Index) -> Callable[[], str]:
    def repair() -> str:
        index.refresh_from_db()
        statistics.refresh(index)
        return "counted"

    return repair


def _drop_orphans() -> str:
    return f"{graph.drop_orphans()} removed"


def _remove_retired() -> str:
    return f"{remove_retired()} removed"
