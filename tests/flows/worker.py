"""A Celery worker for the fault tests, which can be made to stop at a chosen place.

STOP_AT names places, each for a worker of its own: a stage of a job, `swapping` (inside the
transaction of the swap) or `finished` (after it, before the message is acknowledged). There the
worker writes a file named after the place into the folder STOPPED and waits to be killed. BATCH
sets how many texts are embedded at once. READER names the module of the process that reads files,
KILLED_AFTER the seconds that it may take for one. POOL is Celery's. LEASE, in seconds, makes leases
as short as that, and cutting a text that says "backtrack" never ends.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import django

django.setup()

from dolphy.celery import app  # noqa: E402  (needs the setup above)
from dolphy.embedding.remote import RemoteEmbedder  # noqa: E402
from ingestion import heartbeat, ingest, swap  # noqa: E402
from ingestion.models import IngestionJob, jobs  # noqa: E402
from ingestion.parsing import Limits, ParsedDocument, apart  # noqa: E402
from ingestion.segment import Segment  # noqa: E402

PLACES = {
    "received": (ingest, "index_for"),
    "swapping": (swap, "_describe"),
    "finished": (ingest, "wants_graph"),
}


def stop(place: str) -> None:
    (Path(os.environ["STOPPED"]) / place).touch()
    time.sleep(3600)


def stop_at(place: str) -> None:
    if place in PLACES:
        setattr(*PLACES[place], lambda *_: stop(place))
    else:
        IngestionJob.progress = _stopping(IngestionJob.progress, place)  # type: ignore[method-assign]


def _stopping(progress: Callable[..., bool], place: str) -> Callable[..., bool]:
    def reported(job: IngestionJob, stage: str, done: int = 0, total: int = 0) -> bool:
        result = progress(job, stage, done, total)
        if stage == place and (stage != "embedding" or done):  # after the first batch
            stop(place)
        return result

    return reported


def shorten_leases(seconds: float) -> None:
    jobs.LEASE = timedelta(seconds=seconds)
    heartbeat.BEAT_SECONDS, heartbeat.STUCK_SECONDS = seconds / 4, seconds
    real = ingest.segment

    def segment(parsed: ParsedDocument, **options: Any) -> tuple[Segment, ...]:
        if "backtrack" in parsed.blocks[0].text:
            re.match("(a+)+$", "a" * 64 + "b")
        return real(parsed, **options)

    ingest.segment = segment


def main() -> None:
    """One worker, or one for each place, in processes forked when everything is loaded."""
    RemoteEmbedder.batch = int(os.environ["BATCH"])
    apart.MODULE = os.environ.get("READER", apart.MODULE)
    if seconds := os.environ.get("KILLED_AFTER"):
        ingest.parse = partial(apart.parse, limits=Limits(killed_after=float(seconds)))  # type: ignore[assignment]
    if seconds := os.environ.get("LEASE"):
        shorten_leases(float(seconds))
    for place in os.environ["STOP_AT"].split():
        if os.fork() == 0:
            stop_at(place)
            work(place)
    if os.environ["STOP_AT"]:
        os.wait()
    else:
        work("worker")


def work(name: str) -> None:
    pool = os.environ.get("POOL", "solo")
    options: list[Any] = ["worker", f"--pool={pool}", "--queues=documents", "--loglevel=INFO"]
    options += ["--concurrency=1"]
    app.worker_main([*options, "--without-mingle", "--without-gossip", f"--hostname={name}@%h"])


if __name__ == "__main__":
    main()
