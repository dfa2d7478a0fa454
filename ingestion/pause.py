"""Pause and resume: an unfinished job is held, and goes on at the batch where it was."""

from __future__ import annotations

from ingestion.cancel import JobFinished
from ingestion.errors import JobNotPaused
from ingestion.models import IngestionJob
from ingestion.queue import enqueue


def pause(job: IngestionJob) -> None:
    """Hold the job; its worker notices within a batch. Raises `JobFinished`."""
    if not job.pause() and job.is_finished:
        raise JobFinished(state=job.state)


def resume(job: IngestionJob) -> None:
    """Back into the queue. Raises `JobNotPaused`."""
    if not job.resume():
        raise JobNotPaused(state=job.state)
    enqueue(job)
