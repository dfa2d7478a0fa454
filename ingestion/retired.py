"""Retired indexes: removed once no search can be reading them."""

from __future__ import annotations

from datetime import timedelta

from django.db import connection
from django.utils import timezone

from ingestion import graph
from ingestion.models import Index

GRACE = timedelta(minutes=5)
REMOVED_AT_ONCE = 5_000


def remove_retired(grace: timedelta = GRACE) -> int:
    """Remove every index that was retired longer ago than `grace`; returns how many."""
    indexes = Index.objects.select_related("space").filter(
        state=Index.State.RETIRED, retired_at__lte=timezone.now() - grace
    )
    for index in list(indexes):
        remove(index)
    return len(indexes)


def remove(index: Index) -> None:
    """The graph, the rows in small transactions, then the index itself. Safe to run twice."""
    graph.drop(index)
    while _remove_some(index):
        pass
    Index.objects.filter(pk=index.pk, tenant=index.tenant_id).exclude(
        state=Index.State.SERVING
    ).delete()


def _remove_some(index: Index) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingestion_indexedpassage WHERE index_id = %(index)s "
            "AND tenant_id = %(tenant)s AND passage_id IN (SELECT passage_id "
            "FROM ingestion_indexedpassage WHERE index_id = %(index)s AND tenant_id = %(tenant)s "
            "ORDER BY passage_id LIMIT %(some)s)",
            {"index": index.pk, "tenant": index.tenant_id, "some": REMOVED_AT_ONCE},
        )
        return cursor.rowcount
