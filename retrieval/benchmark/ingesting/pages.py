"""Pages a second: a website is crawled, and what it brought ingested, in this one process.

The server is another process and vectors come at once, so this process's seconds are those of
fetching, reading, settling, parsing, segmenting, analysing, asking for vectors, and storing; a job
says at which stage it is.
"""

from __future__ import annotations

import time
from typing import Any

from ingestion.crawl import websites
from ingestion.crawl.crawl import crawl
from ingestion.crawl.models import Sync
from ingestion.ingest import ingest_next
from ingestion.models import Document, IngestionJob
from retrieval.benchmark.ingesting import parts
from retrieval.benchmark.ingesting.stages import BETWEEN, stages_timed
from retrieval.evaluation.progress import Tell
from tenants.models import Agent

EMBEDDING = IngestionJob.Stage.EMBEDDING.value
BEFORE_EMBEDDING = ("received", "parsing", "segmenting", "analysing")


def pages_a_second(agent: Agent, url: str, pages: int, tell: Tell) -> dict[str, Any]:
    """`url` is a page or a sitemap; at most `pages` are asked for."""
    start, cpu, before = time.perf_counter(), time.process_time(), parts.read()
    fetched = _crawl(agent, url, pages, tell)
    crawled, middle = parts.read().since(before), parts.read()
    crawl_wall, crawl_cpu = time.perf_counter() - start, time.process_time() - cpu
    documents = Document.objects.filter(tenant=agent.tenant_id, agent=agent)
    with stages_timed() as spent:
        for number in range(1, documents.count() + 1):
            ingest_next()
            tell(number, documents.count())
    ingested = parts.read().since(middle)
    ready = documents.filter(state=Document.State.READY)
    reached = ready.count()
    before_embedding = sum(spent.cpu.get(stage, 0.0) for stage in BEFORE_EMBEDDING)
    stored = sum(spent.cpu.get(stage, 0.0) for stage in ("indexing", BETWEEN))
    database = _sum(crawled["postgresql"], ingested["postgresql"])
    ingest_wall = sum(spent.wall.values())
    whole = crawl_cpu + before_embedding + stored
    return {
        "pages": reached,
        "fetched": fetched,
        "passages": sum(ready.values_list("passage_count", flat=True)),
        "crawl_s": round(crawl_wall, 2),
        "crawl_cpu_s": round(crawl_cpu, 2),
        "ingest_s": round(ingest_wall, 2),
        "stages_cpu_s": {stage: round(seconds, 2) for stage, seconds in spent.cpu.items()},
        "stages_s": {stage: round(seconds, 2) for stage, seconds in spent.wall.items()},
        "postgresql_cpu_s": database,
        "crawled_per_s": _rate(fetched, crawl_wall),
        "crawled_per_cpu_s": _rate(fetched, crawl_cpu),
        "pages_per_s": _rate(reached, crawl_wall + ingest_wall - spent.wall.get(EMBEDDING, 0.0)),
        "analysed_per_cpu_s": _rate(reached, crawl_cpu + before_embedding),
        "stored_per_cpu_s": _rate(reached, whole),
        "stored_per_cpu_s_with_database": database and _rate(reached, whole + database),
    }


def start(agent: Agent, url: str, pages: int) -> Sync:
    """A website without pauses, and its first sync, queued."""
    website = websites.create(agent, url, delay=0.0, page_limit=pages + 1, depth_limit=50)
    return website.syncs.get()


def _crawl(agent: Agent, url: str, pages: int, tell: Tell) -> int:
    """The whole sync; how many addresses were fetched, the sitemap among them."""
    sync = start(agent, url, pages)
    while not sync.is_finished:
        wait = crawl(sync.pk)
        sync.refresh_from_db()
        tell(Document.objects.filter(tenant=agent.tenant_id, agent=agent).count(), pages)
        time.sleep(min(wait or 0.0, 0.5))
    if sync.state not in (Sync.State.COMPLETE, Sync.State.PARTIAL):
        raise RuntimeError(f"The crawl ended as {sync.state}: {sync.error}")
    return sync.fetched


def _sum(*seconds: float | None) -> float | None:
    known = [one for one in seconds if one is not None]
    return round(sum(known), 2) if len(known) == len(seconds) else None


def _rate(count: int, seconds: float) -> float:
    return round(count / max(0.001, seconds), 1)
