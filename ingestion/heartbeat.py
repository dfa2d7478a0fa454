"""A heartbeat: the lease of a running job is renewed while its worker lives, whatever it is doing.

Embedding a large batch reports nothing for a while; a thread of its own keeps the lease fresh, and
dies with the process, so a killed worker's lease runs out.

A worker that hangs in C and holds the interpreter keeps this thread from beating as well. Its lease
runs out, so nothing it may still do counts; a watchdog that needs no interpreter then ends the
process, with its tracebacks in the log, and Celery starts another in its place.
"""

from __future__ import annotations

import faulthandler
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.db import Error, connection

from ingestion.models import LEASE, IngestionJob

logger = logging.getLogger(__name__)
BEAT_SECONDS = LEASE.total_seconds() / 4
STUCK_SECONDS = LEASE.total_seconds()  # without a beat


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
        faulthandler.cancel_dump_traceback_later()


def _beat(job: IngestionJob, stopped: threading.Event) -> None:
    while True:
        faulthandler.dump_traceback_later(STUCK_SECONDS, exit=True, file=2)
        if stopped.wait(BEAT_SECONDS):
            return
        try:
            job.renew()
        except Error as error:  # the next beat tries again; the lease decides in the end
            logger.warning("The lease of job %s was not renewed: %s", job.pk, error)
        finally:
            connection.close()
