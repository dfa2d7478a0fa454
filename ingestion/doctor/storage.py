"""What lies outside the database: the files of documents, and the vectors kept beside jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

from django.core.files.storage import default_storage
from django.utils import timezone
from redis.exceptions import RedisError

from dolphy.cache import valkey
from ingestion import files
from ingestion.doctor.finding import Finding
from ingestion.embed import KEPT_UNDER
from ingestion.models import Document, IngestionJob

State = IngestionJob.State


def stray_files(grace: timedelta) -> Iterator[Finding]:
    """Files that no document and no job has, if they have lain there for a while."""
    for tenant in filter(_is_id, _folders("")):
        known = _known_files(UUID(tenant))
        for name in _files_of(tenant):
            if name not in known and _age(name) >= grace:
                yield Finding("file_stray", name, "No document has this file.", _discard(name))


def lost_files() -> Iterator[Finding]:
    """Documents and waiting jobs whose file is gone."""
    for document in Document.objects.exclude(file="").iterator():
        if not default_storage.exists(document.file):
            what = "The file of this document is gone; it answers on, but cannot be ingested anew."
            yield Finding("file_missing", f"document {document.pk}", what)
    waiting = IngestionJob.objects.filter(state__in=IngestionJob.OPEN)
    for job in waiting.iterator():
        if not default_storage.exists(job.file):
            yield Finding("file_missing", f"job {job.pk}", "The uploaded file is gone.")


def stray_vectors() -> Iterator[Finding]:
    """Vectors kept beside jobs that have ended, or are no more."""
    try:
        names = list(valkey().scan_iter(match=f"{KEPT_UNDER}*", count=1000))
    except RedisError as error:
        yield Finding("valkey_away", "Valkey", f"It does not answer: {error}")
        return
    kept = {name.decode().removeprefix(KEPT_UNDER): name for name in names}
    ids = [UUID(key) for key in kept if _is_id(key)]
    open_jobs = IngestionJob.objects.filter(pk__in=ids, state__in=IngestionJob.OPEN)
    needed = {str(key) for key in open_jobs.values_list("pk", flat=True)}
    for key in sorted(kept.keys() - needed):
        yield Finding(
            "vectors_stray", f"job {key}", "Vectors are kept for it in vain.", _forget(kept[key])
        )


def _discard(name: str) -> Callable[[], str]:
    def repair() -> str:
        files.discard(name)
        return "removed"

    return repair


def _forget(name: bytes) -> Callable[[], str]:
    def repair() -> str:
        valkey().delete(name)
        return "removed"

    return repair


def _known_files(tenant: UUID) -> set[str]:
    of_jobs = IngestionJob.objects.filter(tenant=tenant).exclude(file="")
    of_documents = Document.with_removed.filter(tenant=tenant).exclude(file="")
    return {*of_jobs.values_list("file", flat=True), *of_documents.values_list("file", flat=True)}


def _files_of(tenant: str) -> Iterator[str]:
    for document in _folders(tenant):
        folder = f"{tenant}/{document}"
        yield from (f"{folder}/{name}" for name in sorted(default_storage.listdir(folder)[1]))


def _folders(within: str) -> list[str]:
    try:
        return sorted(default_storage.listdir(within)[0])
    except FileNotFoundError:  # nothing was ever uploaded
        return []


def _age(name: str) -> timedelta:
    try:
        return timezone.now() - default_storage.get_modified_time(name)
    except FileNotFoundError:  # removed meanwhile
        return timedelta(0)


def _is_id(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True
