"""What Celery runs. Messages carry ids; every task may run twice; the job row decides."""

from __future__ import annotations

from celery import shared_task

from ingestion.graph import drop_orphans, fit_missed, fit_now
from ingestion.ingest import ingest_next
from ingestion.models import Index
from ingestion.probe import doubtful, forget_old_probes, probe_index, probe_spaces, serving
from ingestion.queue import send_missing
from ingestion.removal import purge, send_missed_purge, send_purge
from ingestion.retired import remove_retired


@shared_task(expires=86_400)
def ingest_document(job_id: str) -> None:
    """There is work: do the job whose turn it is, which need not be the one that is named."""
    ingest_next()


@shared_task(expires=3600)
def fit_index(index_id: int) -> None:
    """Give an index the graph and the statistics that its size wants."""
    index = Index.objects.select_related("space").filter(pk=index_id).first()
    if index is not None:
        fit_now(index)


@shared_task(expires=60)
def sweep() -> int:
    """Send again what nobody works on: queued without a message, or running on a dead lease."""
    fit_missed()
    send_missed_purge()
    return send_missing()


@shared_task(expires=3600)
def purge_removed() -> None:
    """A batch of the documents that were removed; the rest is a message of its own."""
    if purge():
        send_purge()


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
    """Indexes that others have replaced, once no search can be reading them, with their graphs; and
    the graphs of indexes that went with their agents."""
    remove_retired()
    drop_orphans()
