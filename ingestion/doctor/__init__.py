"""The doctor: is what is kept whole, and can it be made so again?

PostgreSQL keeps rows from pointing at nothing. What it cannot know is looked at here: files, what
lies in Valkey, graphs, counts that are kept beside what they count, and work that nobody does. Each
check yields what is wrong with the repair for it; a repair may be run twice, and while the system
is at work. A repair that needs the embedder queues a job for the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from ingestion.doctor import content, indexing, jobs, removals, storage
from ingestion.doctor.finding import Finding

GRACE = timedelta(minutes=15)  # younger, a file may be of an upload and a removal be at work yet

__all__ = ["GRACE", "Finding", "examine"]


def examine(grace: timedelta = GRACE) -> Iterator[Finding]:
    """Everything that is wrong, check after check; nothing is changed."""
    yield from removals.unfinished(grace)
    yield from storage.stray_files(grace)
    yield from storage.lost_files()
    yield from storage.stray_vectors()
    yield from jobs.abandoned()
    yield from jobs.unsent()
    yield from jobs.stranded_documents()
    yield from content.miscounted_documents()
    yield from content.unindexed_passages()
    yield from content.stale_passages()
    yield from content.differing_rows()
    yield from content.stray_words()
    yield from indexing.miscounted_indexes()
    yield from indexing.graphs()
    yield from indexing.old_statistics()
    yield from indexing.retired()
