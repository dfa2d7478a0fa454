"""What Celery runs. Messages carry ids; every task may run twice; the job row decides."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from celery import Task, shared_task
from django.db.models import Q
from django.utils import timezone

from dolphy.errors import Unavailable
from ingestion.graph import fit_now
from ingestion.ingest import ingest
from ingestion.models import Index, IngestionJob
from ingestion.receive import enqueue

RETRY_SECONDS = 15
UNHEARD = timedelta(seconds=60)


@shared_task(bind=True, max_retries=None, expires=86_400)
def ingest_document(self: Task[Any, Any], job_id: str) -> None:
    """Do one ingestion job; while the embedder is away, come back to it."""
    try:
        ingest(job_id)
    except Unavailable as error:
        wait = min(300, RETRY_SECONDS * 2 ** min(self.request.retries, 5))
        raise self.retry(exc=error, countdown=wait) from error


@shared_task(expires=3600)
def fit_index(index_id: int) -> None:
    """Give an index the graph and the statistics that its size wants."""
    index = Index.objects.select_related("space").filter(pk=index_id).first()
    if index is not None:
        fit_now(index)


@shared_task(expires=60)
def sweep() -> int:
    """Send again what nobody works on: queued and unheard, or running on a lease that ran out."""
    now = timezone.now()
    forgotten = IngestionJob.objects.filter(
        Q(state=IngestionJob.State.QUEUED, created_at__lt=now - UNHEARD)
        | Q(state=IngestionJob.State.RUNNING, lease_until__lt=now)
    ).order_by("created_at")[:1000]
    for job in forgotten:
        enqueue(job)
    return len(forgotten)
