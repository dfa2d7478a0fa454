"""Removal of many documents: out of every answer at once, purged by workers afterwards.

    hide (one transaction, one statement) → purge → purge → …

A website has thousands of documents, and its removal is asked for over HTTP. What a search reads of
a document is a narrow row a passage, and deleting those is quick; the texts, words, files and kept
vectors behind them are not, so they go in batches. Disabling the rows instead would take minutes:
each of them would be written anew into every index. Until a document is purged its row is there
for the purge alone (`Document.with_removed`), and another one may have its address. The files go
before the row, so whatever is left by a purge that was killed is found by the next.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from pathlib import Path
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from ingestion import files
from ingestion.embed import forget
from ingestion.graph import fit
from ingestion.models import Document, Index, IngestionJob
from ingestion.queue import send

AT_ONCE = 200
OVERDUE = timedelta(minutes=1)
_HIDE = (Path(__file__).parent / "hide.sql").read_text()


def hide(tenant: UUID, agent: UUID, documents: Iterable[UUID]) -> int:
    """Remove these documents of an agent, as far as they are there; returns how many.

    Locks in the order of a swap: the agent's indexes, then the documents.
    """
    with transaction.atomic():
        owner = {"tenant": tenant, "agent": agent}
        held = Index.objects.select_for_update(no_key=True).filter(**owner)
        indexes = list(held.order_by("pk"))
        rows = Document.objects.select_for_update().filter(**owner, pk__in=list(documents))
        found = list(rows.order_by("pk").values_list("pk", flat=True))
        with connection.cursor() as cursor:
            cursor.execute(_HIDE, {**owner, "documents": found})
        for index in indexes:
            transaction.on_commit(lambda index=index: fit(index), robust=True)  # type: ignore[misc]
        transaction.on_commit(send_purge, robust=True)
    return len(found)


def purge() -> int:
    """Delete a batch of removed documents with all that is theirs; returns how many. Safe to run
    twice, and at the same time."""
    oldest = waiting().order_by("removed_at", "pk").first()
    if oldest is None:
        return 0
    of_agent = waiting().filter(tenant=oldest.tenant_id, agent=oldest.agent_id)
    batch = list(of_agent.order_by("removed_at", "pk")[:AT_ONCE])
    keys = [document.pk for document in batch]
    jobs = list(IngestionJob.objects.filter(tenant=oldest.tenant_id, document__in=keys))
    for job in jobs:
        forget(job)
    files.discard(*{document.file for document in batch}, *{job.file for job in jobs})
    of_agent.filter(pk__in=keys).delete()
    return len(keys)


def waiting() -> QuerySet[Document]:
    """Documents that were removed and are not purged yet."""
    return Document.with_removed.filter(removed_at__isnull=False)


def send_purge() -> bool:
    from ingestion.tasks import purge_removed

    return send(purge_removed)


def send_missed_purge() -> None:
    """What nobody purges, because the queue was away or a worker died, is handed out again."""
    if waiting().filter(removed_at__lt=timezone.now() - OVERDUE).exists():
        send_purge()
