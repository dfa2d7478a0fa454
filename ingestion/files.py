"""The bytes of documents: where originals are kept, each under its tenant.

A file is named by its tenant, its document and the hash of its content, so storing the same bytes
again is harmless and nothing a caller typed ever becomes part of a path.
"""

from __future__ import annotations

import uuid

from django.core.files.base import ContentFile
from django.core.files.storage import default_storage


def store(tenant: uuid.UUID, document: uuid.UUID, sha256: str, data: bytes) -> str:
    """Keep the bytes; returns the name to find them by."""
    name = f"{tenant}/{document}/{sha256}"
    if not default_storage.exists(name):
        default_storage.save(name, ContentFile(data))
    return name


def read(name: str) -> bytes:
    with default_storage.open(name) as file:
        return file.read()


def discard(*names: str) -> None:
    """Remove files that nothing refers to any more."""
    for name in filter(None, names):
        default_storage.delete(name)
