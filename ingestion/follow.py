"""Follow jobs from a terminal: one progress bar for many, until all have ended.

Where nothing else calls the sweep, whoever waits does, so that a job that had to wait goes on.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import count
from uuid import UUID

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from dolphy.errors import Unavailable
from ingestion.ingest import ingest
from ingestion.models import IngestionJob
from ingestion.queue import send_missing

POLL_SECONDS = 0.25
SWEEP_EVERY = 60  # polls


def follow(jobs: Sequence[IngestionJob], console: Console) -> list[IngestionJob]:
    """Wait for workers to end the jobs; returns them as they ended, in the order given."""
    ids = [job.pk for job in jobs]
    with _bar(console) as bar:
        documents = bar.add_task("documents", total=len(ids))
        pages = bar.add_task("pages read", total=None, visible=False)
        passages = bar.add_task("passages embedded", total=None)
        for poll in count(1):
            now = _read(ids)
            bar.update(documents, completed=sum(job.is_finished for job in now))
            read, known = _progress(job for job in now if job.counts_pages)
            bar.update(pages, completed=read, total=known, visible=bool(known))
            done, known = _progress(job for job in now if not job.counts_pages)
            bar.update(passages, completed=done, total=known)
            if all(job.is_finished for job in now):
                break
            if poll % SWEEP_EVERY == 0:
                send_missing()
            time.sleep(POLL_SECONDS)
    return now


def _progress(jobs: Iterable[IngestionJob]) -> tuple[int, int | None]:
    """What is done of what is known; None while nothing is."""
    counts = [(job.done, job.total) for job in jobs]
    return sum(done for done, _ in counts), sum(total for _, total in counts) or None


def do_here(jobs: Sequence[IngestionJob], console: Console) -> list[IngestionJob]:
    """Do the jobs in this process, where there is no worker to do them."""
    with _bar(console) as bar:
        for job in bar.track(jobs, description="documents"):
            with suppress(Unavailable):  # the job says so, and its state is shown at the end
                ingest(job.pk)
    return _read([job.pk for job in jobs])


def _read(ids: Iterable[UUID]) -> list[IngestionJob]:
    found = IngestionJob.objects.select_related("document").in_bulk(list(ids))
    return [found[key] for key in ids if key in found]


def _bar(console: Console) -> Progress:
    columns = (
        TextColumn("{task.description:>18}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(*columns, console=console)
