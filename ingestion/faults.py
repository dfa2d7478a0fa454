"""Faults of the surroundings: a job that cannot go on for now goes back and waits.

It waits twice as long after each fault in a row, or as long as the part that failed asks for. When
even that cannot be written, because the database is away, the job keeps its lease until that runs
out, and the sweep finds it.
"""

from __future__ import annotations

import logging
import random
import time
from datetime import timedelta

from django.db import Error, InterfaceError, OperationalError, connection
from django.utils import timezone

from dolphy.errors import Unavailable
from ingestion.models import IngestionJob

logger = logging.getLogger(__name__)

# What PostgreSQL says of itself and not of the statement: connections, resources, locks, shutdown.
PASSING = {"08", "40", "53", "55", "57"}
FIRST_WAIT, LONGEST_WAIT = 15.0, 300.0
PATIENCE = (0.0, 1.0, 2.0, 4.0, 8.0)  # seconds between tries to write that a job waits


def is_database_away(error: Exception) -> bool:
    """Whether the same work may succeed later. Some operational errors, such as a row that is too
    large, are about the document and come back every time."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)  # None: the connection itself broke
    return state is None or state[:2] in PASSING


def put_back(job: IngestionJob, error: Unavailable) -> bool:
    """Back into the queue, not before a while; False when that could not be written."""
    until = timezone.now() + timedelta(seconds=wait(job.faults, getattr(error, "wait", 0.0)))
    for pause in PATIENCE:
        time.sleep(pause)
        try:
            return job.release(error.code, error.message, until=until)
        except Error as why:
            logger.warning("Job %s cannot be put back: %s", job.pk, why)
            connection.close()  # the next try makes a new one
    return False


def wait(faults: int, asked: float) -> float:
    """Seconds to wait after `faults` earlier ones in a row: doubling, with jitter, and bounded.

    What the part that failed asked for is kept, up to an hour.
    """
    doubled = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(faults, 10))
    return max(doubled * random.uniform(0.75, 1.0), min(asked, 3600.0))  # noqa: S311
