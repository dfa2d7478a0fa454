"""Unfinished: what a job that gave way had prepared, for its next turn in this process.

One job's worth is kept, so that a long document is not parsed anew for each of its turns. Another
process, or a change of what it was prepared from, prepares again.
"""

from __future__ import annotations

from dolphy.embedding import Embedder
from ingestion.models import IngestionJob
from ingestion.swap import Prepared

_kept: dict[tuple[object, ...], Prepared] = {}


def keep(job: IngestionJob, embedder: Embedder, prepared: Prepared) -> None:
    _kept.clear()
    _kept[_origin(job, embedder)] = prepared


def take(job: IngestionJob, embedder: Embedder) -> Prepared | None:
    """What was kept of this job; it is kept no longer."""
    return _kept.pop(_origin(job, embedder), None)


def _origin(job: IngestionJob, embedder: Embedder) -> tuple[object, ...]:
    """Everything that preparing a document depends on."""
    title, language = job.document.given_title, job.agent.language
    return (job.pk, job.file, title, language, embedder.space, embedder.max_tokens)
