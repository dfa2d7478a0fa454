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
from ingestion.probe import doubtful, forget_old_probes, probe_index, probe_spaces, serving
from ingestion.receive import enqueue
from ingestion.reembed import remove_retired

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


@shared_task(expires=600)
def probe_all_spaces() -> None:
    """At start: whether what embeds today is what embedded the passages."""
    probe_spaces()


@shared_task(expires=3600)
def probe_nightly() -> None:
    """Every space, and every agent as a task of its own, so that none of them is a long one."""
    probe_spaces()
    for key in serving().values_list("pk", flat=True):
        probe_one.delay(key)
    forget_old_probes()


@shared_task(expires=600)
def probe_doubtful() -> None:
    """What is not trusted may have been put right; what is new was never looked at."""
    for key in doubtful().values_list("pk", flat=True).distinct():
        probe_one.delay(key)


@shared_task(expires=3600)
def probe_one(index_id: int) -> None:
    index = serving().filter(pk=index_id).first()
    if index is not None:
        probe_index(index)


@shared_task(expires=60)
def remove_retired_indexes() -> None:
    """Indexes that others have replaced, once no search can be reading them."""
    remove_retired()
