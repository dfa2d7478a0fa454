"""A heartbeat: the lease of a running job is renewed while its worker lives, whatever it is doing.

Parsing a large file reports nothing for a while; a thread of its own keeps the lease fresh, and
dies with the process, so a killed worker's lease runs out.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connection

from ingestion.models import LEASE, IngestionJob

logger = logging.getLogger(__name__)
BEAT_SECONDS = LEASE.total_seconds() / 4


@contextmanager
def heartbeat(job: IngestionJob) -> Iterator[None]:
    stopped = threading.Event()
    thread = threading.Thread(target=_beat, args=(job, stopped), daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _beat(job: IngestionJob, stopped: threading.Event) -> None:
    while not stopped.wait(BEAT_SECONDS):
        try:
            job.renew()
        except Error as error:  # the next beat tries again; the lease decides in the end
            logger.warning("The lease of job %s was not renewed: %s", job.pk, error)
        finally:
            connection.close()
