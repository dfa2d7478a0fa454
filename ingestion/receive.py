"""Receive: bytes become a document with a job, or a refusal.

The media type is judged by content, the size before anything is kept. The same bytes for the same
address change nothing. A new version cancels the unfinished job of an older one; what the document
says until then goes on being served. The job is enqueued when the rows are committed; if the queue
does not answer, the job waits in its row and the sweep sends it later.

The document's row is locked throughout, so uploads of one document follow one another, and the last
one is the version that stays.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.files.base import File
from django.db import transaction

from dolphy.errors import NotFound
from dolphy.marks import HALF, without_marks
from ingestion import files, quotas
from ingestion.analysis.flood import normal
from ingestion.embed import forget
from ingestion.errors import BadName, JobNotFinished, JobSuperseded, TooLarge
from ingestion.models import Document, IngestionJob
from ingestion.parsing import UnsupportedMediaType, detect_media_type
from ingestion.parsing.media_type import ZIP
from ingestion.queue import enqueue
from tenants.models import Agent

State = IngestionJob.State
LONGEST_URI = 1000


def receive(
    agent: Agent, *, name: str, data: bytes | File[Any], uri: str = "", title: str = ""
) -> IngestionJob:
    """One upload. `uri` (default: the file's name) says which document it is a version of.

    Raises `TooLarge`, `BadName`, a `QuotaExceeded`, and what `detect_media_type` refuses. An
    archive of documents is not a document: `unpack.receive_any` takes those.
    """
    name = clean_name(name)
    uri = clean_uri(uri or name)
    content = bounded(data)
    if detect_media_type(content, name) == ZIP:
        raise UnsupportedMediaType("An archive's files are read one by one.")
    sha256 = hashlib.sha256(content).hexdigest()
    with transaction.atomic():
        quota = quotas.hold(agent.tenant_id)
        document, is_new = Document.objects.select_for_update().get_or_create(
            tenant_id=agent.tenant_id, agent=agent, uri=uri
        )
        retitled = _retitled(document, title)
        known = None if is_new else _already(document, sha256)
        if known and not retitled:
            return known
        quotas.check_upload(document, len(content), quota)
        if not is_new:
            supersede(document)
        return _new_job(document, name, sha256, content)


def receive_again(document: Document, name: str, file: str) -> IngestionJob:
    """Make the passages of a document anew from bytes that are stored already, as `file`.

    Nothing is added to what the tenant keeps, so quotas are not asked. Raises `FileMissing`.
    """
    content = files.read(file)
    with transaction.atomic():
        _lock(document.pk, document.tenant_id)
        supersede(document)
        return _new_job(document, name, hashlib.sha256(content).hexdigest(), content)


def retry(job: IngestionJob) -> IngestionJob:
    """Try a failed or cancelled job again.

    Raises `JobNotFinished` while it is at work, `JobSuperseded` when a newer one took its place,
    `NotFound` when its document is gone.
    """
    with transaction.atomic():
        _lock(job.document_id, job.tenant_id)
        job.refresh_from_db()
        if job.state == State.SUCCEEDED:
            return job
        if not job.is_finished:
            raise JobNotFinished
        if not job.file or _is_overtaken(job):
            raise JobSuperseded
        job.again()
        transaction.on_commit(lambda: enqueue(job))
    return job


def supersede(document: Document) -> None:
    """Cancel what is still at work on an older version."""
    unfinished = IngestionJob.objects.filter(
        tenant=document.tenant_id, document=document, state__in=IngestionJob.OPEN
    )
    for job in unfinished:
        job.cancel()
        forget(job)


def _lock(document: UUID, tenant: UUID) -> None:
    rows = Document.objects.select_for_update().filter(pk=document, tenant=tenant)
    if rows.first() is None:
        raise NotFound("Looked for: document.")


def _new_job(document: Document, name: str, sha256: str, content: bytes) -> IngestionJob:
    """Queue the bytes as the document's newest version. Its row is locked, and no older job is at
    work."""
    job = IngestionJob.objects.create(
        tenant_id=document.tenant_id,
        agent_id=document.agent_id,
        document=document,
        name=name,
        sha256=sha256,
        size=len(content),
        file=files.store(document.tenant_id, document.pk, sha256, content),
    )
    transaction.on_commit(lambda: enqueue(job))
    return job


def _is_overtaken(job: IngestionJob) -> bool:
    """Whether a newer version of the document is at work, or answers already."""
    newer = IngestionJob.objects.filter(
        tenant=job.tenant_id, document=job.document_id, created_at__gt=job.created_at
    )
    return newer.filter(state__in=[*IngestionJob.OPEN, State.SUCCEEDED]).exists()


def _unicode(text: str) -> str:
    """Left out, the bytes that are not UTF-8 would make one name of two."""
    if any(unicodedata.category(ch) == HALF for ch in text):
        raise BadName("This one is not UTF-8.")
    return text


def clean_name(name: str) -> str:
    """The last part of a file's name, without control and direction marks."""
    name = PurePosixPath(name.replace("\\", "/")).name
    kept = (ch for ch in normal(_unicode(name)) if unicodedata.category(ch)[0] != "C")
    name = re.sub(r"\s+", " ", "".join(kept)).strip()
    if not name or name in {".", ".."}:
        raise BadName
    return name[-255:]


def clean_uri(uri: str) -> str:
    uri = without_marks(_unicode(uri)).strip()
    if not uri or len(uri) > LONGEST_URI:
        raise BadName
    return uri


def bounded(data: bytes | File[Any]) -> bytes:
    limit = settings.MAX_UPLOAD_BYTES
    content = data if isinstance(data, bytes) else data.read(limit + 1)
    if len(content) > limit:
        raise TooLarge(f"The limit is {limit // 1024 // 1024} MB.", limit=limit)
    return content


def _retitled(document: Document, title: str) -> bool:
    """Keep a title that was given with the upload; True when that changes the document."""
    title = without_marks(title).strip()[:500]
    if not title or title == document.given_title:
        return False
    document.given_title = title
    document.save(update_fields=["given_title"])
    return True


def _already(document: Document, sha256: str) -> IngestionJob | None:
    """The job that brought, or is bringing, exactly these bytes; None when there is work to do."""
    newest = (
        IngestionJob.objects.filter(tenant=document.tenant_id, document=document)
        .order_by("-created_at")
        .first()
    )
    if newest is None or newest.sha256 != sha256:
        return None
    if not newest.is_finished:
        return newest
    is_served = newest.state == State.SUCCEEDED and document.sha256 == sha256
    return newest if is_served else None
