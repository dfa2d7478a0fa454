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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import QuerySet, Sum

from dolphy.management.commands.up import commands
from ingestion.models import Document, IngestionJob
from ingestion.receive import receive
from retrieval.benchmark.ingesting import parts
from retrieval.benchmark.ingesting.invent_pages import markdown
from retrieval.benchmark.ingesting.processes import started
from retrieval.benchmark.loading.invent import Inventor
from retrieval.evaluation.progress import Tell
from tenants.models import Agent

PASSAGES_A_DOCUMENT = 24
WARM_UP = 3  # documents a worker process
SECONDS_BETWEEN_LOOKS = 0.1
PATIENCE = 900.0
SECONDS_TO_FINISH = 10.0  # less than whoever started us has patience for
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
        self.count += 1
        self.active += active
        self.locked += locked


@dataclass(frozen=True)
class Moment:
    """A state of the run: what is done, what was spent, what the endpoint was asked, and what
    PostgreSQL was seen doing since the moment before."""

    documents: int
    passages: int
    reading: parts.Reading
    endpoint: dict[str, float]
    looks: Looks


@dataclass(frozen=True)
class Crew:
    """A Celery worker with so many processes, at work for one agent; what it says goes to `log`."""

    agent: Agent
    workers: int
    pid: int
    log: Path

    @property
    def jobs(self) -> QuerySet[IngestionJob]:
        return IngestionJob.objects.filter(tenant=self.agent.tenant_id, agent=self.agent)

    def done(self) -> int:
        return self.jobs.filter(state=State.SUCCEEDED).count()

    def moment_when(self, reached: Callable[[], bool]) -> Moment:
        """Wait for it. Raises `RuntimeError` when a job fails or it takes too long."""
        looks, until = Looks(), time.monotonic() + PATIENCE
        while not reached():
            failed = self.jobs.filter(state__in=[State.FAILED, State.CANCELLED]).first()
            if failed or time.monotonic() > until:
                said = self.log.read_text(errors="replace")[-2000:]
                raise RuntimeError(f"The workers did not finish: {failed and failed.error}\n{said}")
            looks.look()
            time.sleep(SECONDS_BETWEEN_LOOKS)
        documents = Document.objects.filter(tenant=self.agent.tenant_id, agent=self.agent)
        port, endpoint = map(int, os.environ["BENCHMARK_ENDPOINT"].split())
        return Moment(
            documents=self.done(),
            passages=documents.aggregate(all=Sum("passage_count"))["all"],
            reading=parts.read(workers=self.pid, endpoint=endpoint),
            endpoint=_counts(port),
            looks=looks,
        )


@contextmanager
def at_work(agent: Agent, workers: int, folder: Path) -> Iterator[Crew]:
    log = folder / f"{agent.slug}.log"
    command = [*commands(0, folder)["worker"], "--concurrency", str(workers)]
    with started(command, os.environ, log, SECONDS_TO_FINISH) as process:
        yield Crew(agent, workers, process.pid, log)


def queue(agent: Agent, documents: int, inventor: Inventor) -> None:
    """Receive so many, all different."""
    for number in range(documents):
        data = markdown(inventor, PASSAGES_A_DOCUMENT).encode()
        receive(agent, name=f"document-{number:04d}.md", data=data)


def throughput(
    agent: Agent, workers: int, documents: int, inventor: Inventor, folder: Path, tell: Tell
) -> dict[str, Any]:
    """`workers` processes on `documents` documents, and some to warm up."""
    warm_up = WARM_UP * workers
    total = warm_up + documents
    queue(agent, total, inventor)
    with at_work(agent, workers, folder) as crew:

        def reached(count: int) -> bool:
            tell(crew.done(), total)
            return crew.done() >= count

        begin = crew.moment_when(lambda: reached(warm_up))
        end = crew.moment_when(lambda: reached(total))
    return figures(workers, begin, end)


def _counts(port: int) -> dict[str, float]:
    client = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    client.request("GET", "/counts")
    counts: dict[str, float] = json.loads(client.getresponse().read())
    client.close()
    return counts


def figures(workers: int, begin: Moment, end: Moment) -> dict[str, Any]:
    """Between two moments. Seconds; shares from 0 to 1."""
    spent = end.reading.since(begin.reading)
    wall = spent.pop("wall") or 0.001
    documents, passages = end.documents - begin.documents, end.passages - begin.passages
    asked = {name: end.endpoint[name] - begin.endpoint[name] for name in end.endpoint}
    of_workers = wall * workers
    shares = {
        "embedder": asked["seconds"] / of_workers,
        "database": end.looks.active / max(1, end.looks.count) / workers,
        "locks": end.looks.locked / max(1, end.looks.count) / workers,
        "cores": (spent.pop("machine") or 0.0) / (wall * parts.cores()),
    }
    ours = sum(used or 0.0 for used in spent.values()) / (wall * parts.cores())
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
