"""Duplicates: which other documents of the agent say what a document says.

Asked when a document is looked at and never stored: the answer holds for both sides, and stays true
when either changes, is disabled or goes. Only documents that hold more than half of its passages,
word for word, are named; a shared footer is no duplicate.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection

from ingestion.models import Document, serving_index

MOST = 5
TEXTS, COPIES = 1000, 100  # of a document, and of one text, looked at for who is worth counting
_SAME = (Path(__file__).parent / "duplicates.sql").read_text()


@dataclass(frozen=True)
class Duplicate:
    """Another document, and how many of the passages of the one asked about it holds as well."""

    document: UUID
    uri: str
    title: str
    enabled: bool
    passages: int

    def as_dict(self) -> dict[str, object]:
        """Plain values that JSON can hold."""
        return {
            "document": str(self.document),
            "uri": self.uri,
            "title": self.title,
            "enabled": self.enabled,
            "passages": self.passages,
        }


def duplicates_of(document: Document) -> list[Duplicate]:
    """At most `MOST`, those that hold most of it first; one statement beside the agent's index."""
    index = serving_index(document.agent) if document.passage_count else None
    if index is None:
        return []
    values: dict[str, Any] = {
        "index": index.pk,
        "tenant": document.tenant_id,
        "agent": document.agent_id,
        "document": document.pk,
        "texts": TEXTS,
        "copies": COPIES,
        "most": MOST,
    }
    with connection.cursor() as cursor:
        cursor.execute(_SAME, values)
        return [Duplicate(*row) for row in cursor]


def report_of(document: Document) -> dict[str, object]:
    """What was found in a document when it was ingested, and where its text stands now."""
    found = dict(document.report)
    if document.state == Document.State.READY:
        found["duplicates"] = [one.as_dict() for one in duplicates_of(document)]
    return found
