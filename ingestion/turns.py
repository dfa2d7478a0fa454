"""Turns: which job a free worker takes, and when a long one gives way.

A message in the queue means that there is work, not which. The worker takes the oldest job of the
tenant that was served longest ago, so ten thousand documents of one business do not stand before
the one document of another. A job that has embedded `BATCHES_A_TURN` batches goes back into the
queue, its batches kept, when a tenant waits of whom no job is running.
"""

from __future__ import annotations

from pathlib import Path

from django.db import connection, transaction
from django.utils import timezone

from ingestion.models import IngestionJob

BATCHES_A_TURN = 4
_CLAIM = (Path(__file__).parent / "claim.sql").read_text()
_UNSERVED = (Path(__file__).parent / "unserved.sql").read_text()
_SERVED = """
    INSERT INTO ingestion_turn (tenant_id, served_at) VALUES (%s, clock_timestamp())
    ON CONFLICT (tenant_id) DO UPDATE SET served_at = excluded.served_at
"""


class GaveWay(Exception):
    """The job is back in the queue: a tenant who waits is served, or the worker ends."""


def claim() -> IngestionJob | None:
    """Start the job whose turn it is; None when there is nothing to do."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute(_CLAIM, {"now": timezone.now()})
            found = cursor.fetchone()
        if found is None:
            return None
        job = IngestionJob.objects.select_related("document", "agent").get(pk=found[0])
        if not job.start():
            return None
        with connection.cursor() as cursor:
            cursor.execute(_SERVED, [job.tenant_id])
    return job


class Turn:
    """One job's turn at a worker. Without a limit it lasts until the job has ended."""

    def __init__(self, job: IngestionJob, batches: int | None = None) -> None:
        self.job, self.left = job, batches

    def batch_done(self) -> None:
        """Raises `GaveWay` when the turn is over and somebody waits for theirs."""
        if self.left is None:
            return
        self.left -= 1
        if self.left <= 0 and someone_waits(self.job) and self.job.give_way():
            raise GaveWay


def someone_waits(job: IngestionJob) -> bool:
    """Whether another tenant has work and no worker."""
    with connection.cursor() as cursor:
        cursor.execute(_UNSERVED, {"tenant": job.tenant_id, "now": timezone.now()})
        found: tuple[bool] = cursor.fetchone()
    return found[0]
