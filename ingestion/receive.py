"""Receive: bytes become a document with a job, or a refusal.

The media type is judged by content, the size before anything is kept. The same bytes for the same
address change nothing. A new version cancels the unfinished job of an older one; what the document
says until then goes on being served. The job is enqueued when the rows are committed; if the queue
does not answer, the job waits in its row and the sweep sends it later.
"""

from __future__ import annotations

import hashlib
import logging
import re
import unicodedata
from pathlib import PurePosixPath
from typing import Any

from django.conf import settings
from django.core.files.base import File
from django.db import transaction
from kombu.exceptions import OperationalError

from ingestion import files
from ingestion.errors import BadName, BrokerUnavailable, JobNotFinished, TooLarge
from ingestion.models import Document, IngestionJob
from ingestion.parsing import detect_media_type
from tenants.models import Agent

logger = logging.getLogger(__name__)
State = IngestionJob.State
LONGEST_URI = 1000


def receive(
    agent: Agent, *, name: str, data: bytes | File[Any], uri: str = "", title: str = ""
) -> IngestionJob:
    """One upload. `uri` (default: the file's name) says which document it is a version of.

    Raises `TooLarge`, `BadName`, and what `detect_media_type` refuses.
    """
    name = clean_name(name)
    uri = _clean_uri(uri or name)
    content = _bounded(data)
    detect_media_type(content, name)
    sha256 = hashlib.sha256(content).hexdigest()
    with transaction.atomic():
        document, _ = Document.objects.select_for_update().get_or_create(
            tenant_id=agent.tenant_id, agent=agent, uri=uri
        )
        retitled = _retitled(document, title)
        known = _already(document, sha256)
        if known and not retitled:
            return known
        supersede(document)
        job = IngestionJob.objects.create(
            tenant_id=agent.tenant_id,
            agent=agent,
            document=document,
            name=name,
            sha256=sha256,
            size=len(content),
            file=files.store(agent.tenant_id, document.pk, sha256, content),
        )
        transaction.on_commit(lambda: enqueue(job))
    return job


def retry(job: IngestionJob) -> IngestionJob:
    """Try a failed or cancelled job again. Raises `JobNotFinished` while it is at work."""
    again = IngestionJob.objects.filter(
        pk=job.pk, tenant=job.tenant_id, state__in=[State.FAILED, State.CANCELLED]
    ).update(
        state=State.QUEUED, attempts=0, error_code="", error="", finished_at=None, done=0, total=0
    )
    job.refresh_from_db()
    if not again and job.state != State.SUCCEEDED:
        raise JobNotFinished
    if again:
        enqueue(job)
    return job


def enqueue(job: IngestionJob) -> None:
    """Tell the workers. A queue that does not answer is written into the job, not raised."""
    from ingestion.tasks import ingest_document

    try:
        ingest_document.apply_async([str(job.pk)], retry=False)
    except OperationalError as error:
        logger.warning("Job %s waits for the queue: %s", job.pk, error)
        waiting = BrokerUnavailable()
        IngestionJob.objects.filter(pk=job.pk, tenant=job.tenant_id, state=State.QUEUED).update(
            error_code=waiting.code, error=waiting.message
        )


def supersede(document: Document) -> None:
    """Cancel what is still at work on an older version."""
    unfinished = IngestionJob.objects.filter(
        tenant=document.tenant_id, document=document, state__in=[State.QUEUED, State.RUNNING]
    )
    for job in unfinished:
        job.cancel()


def clean_name(name: str) -> str:
    """The last part of a file's name, without control and direction marks."""
    name = PurePosixPath(name.replace("\\", "/")).name
    kept = (ch for ch in unicodedata.normalize("NFC", name) if unicodedata.category(ch)[0] != "C")
    name = re.sub(r"\s+", " ", "".join(kept)).strip()
    if not name or name in {".", ".."}:
        raise BadName
    return name[-255:]


def _clean_uri(uri: str) -> str:
    uri = "".join(ch for ch in uri.strip() if unicodedata.category(ch) != "Cc")
    if not uri or len(uri) > LONGEST_URI:
        raise BadName
    return uri


def _bounded(data: bytes | File[Any]) -> bytes:
    limit = settings.MAX_UPLOAD_BYTES
    content = data if isinstance(data, bytes) else data.read(limit + 1)
    if len(content) > limit:
        raise TooLarge(f"The limit is {limit // 1024 // 1024} MB.", limit=limit)
    return content


def _retitled(document: Document, title: str) -> bool:
    """Keep a title that was given with the upload; True when that changes the document."""
    title = title.replace("\0", "").strip()[:500]
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
    if newest.state in {State.QUEUED, State.RUNNING}:
        return newest
    is_served = newest.state == State.SUCCEEDED and document.sha256 == sha256
    return newest if is_served else None
