"""Work that nobody does: dead leases, jobs without a message, documents without a job."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from django.db.models import Exists, OuterRef
from django.utils import timezone

from ingestion.doctor.finding import Finding
from ingestion.models import Document, IngestionJob
from ingestion.queue import missing_messages, send_missing

State = IngestionJob.State


def abandoned() -> Iterator[Finding]:
    """Jobs whose worker died and that nobody took up."""
    for job in IngestionJob.objects.filter(state=State.RUNNING, lease_until__lt=timezone.now()):
        what = f"Its worker died in the stage {job.stage}, attempt {job.attempts}."
        yield Finding("job_abandoned", f"job {job.pk}", what, _send)


def unsent() -> Iterator[Finding]:
    """Jobs that wait in vain, because the queue has no message for them."""
    missing = missing_messages()
    if missing:
        yield Finding("jobs_unsent", "queue", f"{missing} jobs are without a message.", _send)


def stranded_documents() -> Iterator[Finding]:
    """Documents that wait for an ingestion that nobody will do. A cancelled one waits rightly."""
    jobs = IngestionJob.objects.filter(document=OuterRef("pk"), tenant=OuterRef("tenant"))
    waiting = Document.objects.filter(state=Document.State.WAITING).exclude(
        Exists(jobs.filter(state__in=[*IngestionJob.OPEN, State.CANCELLED]))
    )
    for document in waiting:
        yield Finding(
            "document_stranded",
            f"document {document.pk}",
            f"{document.uri} waits, and no job is at work on it.",
            partial(_needs_attention, document),
        )


def _send() -> str:
    return f"{send_missing()} messages sent"


def _needs_attention(document: Document) -> str:
    Document.objects.filter(
        pk=document.pk, tenant=document.tenant_id, state=Document.State.WAITING
    ).update(state=Document.State.ATTENTION)
    return "marked as needing attention"
