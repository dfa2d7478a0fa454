"""The bytes of documents: where originals are kept, each under its tenant.

A file is named by its tenant, its document, the hash of its content and a word of its own, so each
job owns its file alone (discarding one never takes another's away) and nothing a caller typed ever
becomes part of a path.
"""

from __future__ import annotations

import secrets
import uuid

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage

from ingestion.errors import FileMissing


def store(tenant: uuid.UUID, document: uuid.UUID, sha256: str, data: bytes) -> str:
    """Keep the bytes; returns the name to find them by."""
    name = f"{tenant}/{document}/{sha256}-{secrets.token_hex(4)}"
    return default_storage.save(name, ContentFile(data))


def read(name: str) -> bytes:
    """The bytes again. Raises `FileMissing`."""
    try:
        with default_storage.open(name) as file:
            return bytes(file.read())
    except FileNotFoundError as error:
        raise FileMissing from error


def discard(*names: str) -> None:
    """Remove files that nothing refers to any more."""
    for name in filter(None, names):
        default_storage.delete(name)
