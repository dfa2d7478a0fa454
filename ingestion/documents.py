"""What is done to a document after it was received: enable, disable, rename, delete.

Each is one transaction, and the next search shows it. Rows are locked in the order in which a swap
locks them, indexes before the document, so the two wait for each other instead of deadlocking; a
swap that comes second finds the document as it was left here.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from django.db import transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Greatest
from django.utils import timezone

from dolphy.errors import NotFound
from ingestion import files
from ingestion.embed import forget
from ingestion.graph import fit
from ingestion.models import Document, Index, IndexedPassage, IngestionJob, Passage
from ingestion.receive import receive_again

State = IngestionJob.State


def set_enabled(document: Document, enabled: bool) -> None:
    """Let a document answer questions, or keep it from answering. Raises `NotFound`."""
    with transaction.atomic():
        indexes = _lock(document)
        if document.enabled == enabled:
            return
        document.enabled = enabled
        _change(document, enabled=enabled)
        for index in indexes:
            changed = _rows_of(document, index).update(enabled=enabled)
            _count(index, changed if enabled else -changed)


def rename(document: Document, title: str) -> None:
    """Show a document under another title from now on, whatever its file calls itself.

    The title is part of what is indexed, so the bytes are received again under it: the newest ones,
    which may still be waiting for their turn. Raises `NotFound`.
    """
    with transaction.atomic():
        _lock(document)
        if document.title == document.given_title == title:
            return
        if newest := _newest_bytes(document):
            name, file = newest
            receive_again(document, name, file)
        document.title = document.given_title = title
        _change(document, title=title, given_title=title)


def change(document: Document, *, title: str | None = None, enabled: bool | None = None) -> None:
    """Several of these at once, or none: what is None stays as it is. Raises `NotFound`."""
    with transaction.atomic():
        if enabled is not None:
            set_enabled(document, enabled)
        if title is not None:
            rename(document, title)


def delete(document: Document) -> None:
    """Remove a document with its passages and jobs, and then its files. Raises `NotFound`."""
    with transaction.atomic():
        indexes = _lock(document)
        if document.enabled:
            for index in indexes:
                _count(index, -_rows_of(document, index).count())
        jobs = list(_jobs(document))
        _row(document).delete()
        transaction.on_commit(lambda: _discard(document, jobs), robust=True)


def _discard(document: Document, jobs: Iterable[IngestionJob]) -> None:
    """What lies outside the database: files, and vectors kept beside jobs that had not ended."""
    for job in jobs:
        forget(job)
    files.discard(*{document.file, *(job.file for job in jobs)})


def original_name(document: Document) -> str:
    """What the uploaded file was called, as far as it is still known."""
    name = _jobs(document).filter(sha256=document.sha256).values_list("name", flat=True).first()
    return name or PurePosixPath(document.uri).name or "document"


def last_job(document: Document) -> IngestionJob | None:
    """The newest attempt at the document, whose error says why it needs attention."""
    return _jobs(document).first()


def _lock(document: Document) -> list[Index]:
    """The agent's indexes, locked, and then the document, locked and read again."""
    held = Index.objects.select_for_update(no_key=True)
    indexes = list(held.filter(tenant=document.tenant_id, agent=document.agent_id).order_by("pk"))
    fresh = _row(document).select_for_update().first()
    if fresh is None:
        raise NotFound("Looked for: document.")
    for name in ("enabled", "file", "sha256", "title", "given_title"):
        setattr(document, name, getattr(fresh, name))
    return indexes


def _newest_bytes(document: Document) -> tuple[str, str] | None:
    """Name and file of the version at work, or of the one that answers; None without either."""
    at_work = _jobs(document).filter(state__in=IngestionJob.OPEN).first()
    if at_work:
        return at_work.name, at_work.file
    return (original_name(document), document.file) if document.file else None


def _jobs(document: Document) -> QuerySet[IngestionJob]:
    jobs = IngestionJob.objects.filter(tenant=document.tenant_id, document=document.pk)
    return jobs.order_by("-created_at")


def _row(document: Document) -> QuerySet[Document]:
    return Document.objects.filter(
        pk=document.pk, tenant=document.tenant_id, agent=document.agent_id
    )


def _change(document: Document, **fields: object) -> None:
    document.updated_at = timezone.now()
    if not _row(document).update(updated_at=document.updated_at, **fields):
        raise NotFound("Looked for: document.")


def _rows_of(document: Document, index: Index) -> QuerySet[IndexedPassage]:
    passages = Passage.objects.filter(
        tenant=document.tenant_id, agent=document.agent_id, document=document.pk
    )
    return IndexedPassage.objects.filter(
        tenant=document.tenant_id, index=index.pk, passage__in=passages.values("pk")
    )


def _count(index: Index, change: int) -> None:
    """An index counts its enabled passages: it decides by them how it is searched."""
    if change:
        Index.objects.filter(pk=index.pk, tenant=index.tenant_id).update(
            passages=Greatest(0, F("passages") + change)
        )
        transaction.on_commit(lambda: fit(index), robust=True)
