"""The same website, crawled and ingested by real workers: pages a second with everything in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ingestion.models import IngestionJob
from retrieval.benchmark.ingesting import parts
from retrieval.benchmark.ingesting.pages import start
from retrieval.benchmark.ingesting.workers import WARM_UP, at_work, figures, queue
from retrieval.benchmark.loading.invent import Inventor
from retrieval.evaluation.progress import Tell
from tenants.models import Agent


def pages_by_workers(
    agent: Agent, url: str, pages: int, inventor: Inventor, folder: Path, tell: Tell
) -> dict[str, Any]:
    """As many worker processes as there are cores. From the start of the sync to the last job's
    end, after a few documents that are not counted."""
    workers = parts.cores()
    warm_up = WARM_UP * workers
    queue(agent, warm_up, inventor)
    with at_work(agent, workers, folder) as crew:
        begin = crew.moment_when(lambda: crew.done() >= warm_up)
        sync = start(agent, url, pages)

        def all_done() -> bool:
            sync.refresh_from_db()
            tell(crew.done() - warm_up, pages)
            return sync.is_finished and not crew.jobs.filter(state__in=IngestionJob.OPEN).exists()

        end = crew.moment_when(all_done)
    return figures(workers, begin, end)
