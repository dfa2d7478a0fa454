"""Documents a second against the number of workers: real ones, as `up` starts them.

All documents are queued before the workers start; the first few are not counted, for while they are
done the worker's processes load what they need. From then until the last job has ended the
processor time of every part is taken, and PostgreSQL is asked again and again what its backends are
doing, which tells how long workers wait for it.
"""

from __future__ import annotations

import http.client
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Sum

from dolphy.management.commands.up import commands
from ingestion.models import Document, IngestionJob
from ingestion.receive import receive
from retrieval.benchmark.ingesting import processor
from retrieval.benchmark.ingesting.invent_pages import markdown
from retrieval.benchmark.ingesting.processes import started
from retrieval.benchmark.invent import Inventor
from retrieval.evaluation.progress import Tell
from tenants.models import Agent

PASSAGES_A_DOCUMENT = 24
WARM_UP = 3  # documents a worker process
SECONDS_BETWEEN_LOOKS = 0.1
PATIENCE = 900.0
FULL = 0.9
State = IngestionJob.State
_DOING = """
    SELECT count(*) FILTER (WHERE state = 'active'),
        count(*) FILTER (WHERE state = 'active' AND wait_event_type = 'Lock')
    FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend'
"""


@dataclass
class Looks:
    """What PostgreSQL's backends were seen doing: sums over all looks."""

    count: int = 0
    active: int = 0
    locked: int = 0

    def look(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(_DOING)
            active, locked = cursor.fetchone()
        self.count, self.active, self.locked = (
            self.count + 1,
            self.active + active,
            self.locked + locked,
        )


@dataclass(frozen=True)
class Moment:
    """A state of the run: what is done, what was spent, what the endpoint was asked."""

    documents: int
    passages: int
    reading: processor.Reading
    endpoint: dict[str, float]
    looks: Looks = field(default_factory=Looks)


def throughput(
    agent: Agent, workers: int, documents: int, inventor: Inventor, folder: Path, tell: Tell
) -> dict[str, Any]:
    """`workers` processes of one Celery worker on `documents` documents, and some to warm up."""
    warm_up = WARM_UP * workers
    for number in range(warm_up + documents):
        data = markdown(inventor, PASSAGES_A_DOCUMENT).encode()
        receive(agent, name=f"with-{workers}-{number:04d}.md", data=data)
    log = folder / f"workers-{workers}.log"
    command = [*commands(0, folder)["worker"], "--concurrency", str(workers)]
    with started(command, os.environ, log) as process:
        begin = _moment_when(agent, warm_up, process.pid, log, tell)
        end = _moment_when(agent, warm_up + documents, process.pid, log, tell)
    return _figures(workers, begin, end)


def _moment_when(agent: Agent, left: int, pid: int, log: Path, tell: Tell) -> Moment:
    """Wait until so many of this round's jobs are done."""
    looks, until = Looks(), time.monotonic() + PATIENCE
    jobs = IngestionJob.objects.filter(tenant=agent.tenant_id, agent=agent)
    while (done := jobs.filter(state=State.SUCCEEDED).count()) < left:
        failed = jobs.filter(state__in=[State.FAILED, State.CANCELLED]).first()
        if failed or time.monotonic() > until:
            said = log.read_text(errors="replace")[-2000:]
            raise RuntimeError(f"The workers did not finish: {failed and failed.error}\n{said}")
        looks.look()
        tell(done, left)
        time.sleep(SECONDS_BETWEEN_LOOKS)
    passages = Document.objects.filter(tenant=agent.tenant_id, agent=agent).aggregate(
        all=Sum("passage_count")
    )
    port, endpoint = map(int, os.environ["BENCHMARK_ENDPOINT"].split())
    reading = processor.read(workers=pid, endpoint=endpoint)
    return Moment(done, passages["all"], reading, _counts(port), looks)


def _counts(port: int) -> dict[str, float]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request("GET", "/counts")
    counts: dict[str, float] = json.loads(client.getresponse().read())
    client.close()
    return counts


def _figures(workers: int, begin: Moment, end: Moment) -> dict[str, Any]:
    spent = end.reading.since(begin.reading)
    wall = spent.pop("wall") or 0.001
    documents, passages = end.documents - begin.documents, end.passages - begin.passages
    asked = {name: end.endpoint[name] - begin.endpoint[name] for name in end.endpoint}
    of_workers = wall * workers
    shares = {
        "embedder": asked["seconds"] / of_workers,
        "database": end.looks.active / max(1, end.looks.count) / workers,
        "locks": end.looks.locked / max(1, end.looks.count) / workers,
        "cores": (spent.pop("machine") or 0.0) / (wall * processor.cores()),
    }
    ours = sum(used or 0.0 for used in spent.values()) / (wall * processor.cores())
    return {
        "workers": workers,
        "documents": documents,
        "passages": passages,
        "seconds": round(wall, 2),
        "documents_per_s": round(documents / wall, 2),
        "passages_per_s": round(passages / wall, 2),
        "requests": int(asked["requests"]),
        "cpu_s": spent,
        "cores_busy_with_this": round(ours, 3),
        "shares": {name: round(share, 3) for name, share in shares.items()},
        "limit": limit(shares, ours),
    }


def limit(shares: dict[str, float], ours: float) -> str:
    """What kept it from being faster. `shares`: of the workers' time spent inside the embedder,
    waiting for the database, and there for each other's locks; of the cores' time that was spent.
    `ours`: the share of the cores' time that this ingestion spent."""
    if shares["cores"] >= FULL:
        return "the cores" if ours >= FULL * shares["cores"] else "the cores, shared with others"
    named = {
        "the embedder": shares["embedder"],
        "the database": shares["database"] - shares["locks"],
        "locks in the database": shares["locks"],
        "the worker itself": 1 - shares["embedder"] - shares["database"],
    }
    return max(named, key=lambda name: named[name])
