"""How busy ingestion keeps the embedder: whole jobs beside the embedder alone, in turns.

The jobs are real (received, parsed, segmented, analysed, embedded, swapped), only run in this
process instead of a worker's. The time inside the embedder is taken while they run: a second run of
it, on a machine that is busier or less, may well take longer than the whole job did. The embedder
alone then gets the same texts in the same batches.
"""

from __future__ import annotations

import resource
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from dolphy import embedding
from dolphy.celery import app
from dolphy.embedding import Vectors
from ingestion.models import IngestionJob, Passage
from ingestion.receive import receive
from ingestion.segment import Segment
from retrieval.benchmark.ingesting.invent_pages import markdown
from retrieval.benchmark.loading.invent import Inventor
from retrieval.evaluation.progress import Tell
from tenants.models import Agent, Tenant

PARAGRAPHS = 16


def throughput(owner: Tenant, documents: int, inventor: Inventor, tell: Tell) -> dict[str, Any]:
    """Passages a second of either, the share of the jobs' time (0 to 1) that was spent inside the
    embedder, and what this process, which did a worker's work, held at its largest."""
    agent = Agent.objects.create(tenant=owner, slug="ingested", name="Ingested", language="tr")
    passages, whole, inside, alone = 0, 0.0, 0.0, 0.0
    with _jobs_at_once():
        for number in range(-1, documents):  # the first one loads the model and is not counted
            data = markdown(inventor, PARAGRAPHS).encode()
            with _embedder_timed() as seconds:
                start = perf_counter()
                job = receive(agent, name=f"document-{number}.md", data=data)
                taken = perf_counter() - start
            texts = _embedded_texts(job)
            start = perf_counter()
            _embed(texts)
            if number >= 0:
                passages += len(texts)
                whole += taken
                inside += sum(seconds)
                alone += perf_counter() - start
            tell(number + 1, documents)
    return {
        "passages": passages,
        "passages_per_s": round(passages / whole, 2),
        "embedder_alone_passages_per_s": round(passages / alone, 2),
        "embedder_busy": round(inside / whole, 3),
        "process_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
    }


@contextmanager
def _embedder_timed() -> Iterator[list[float]]:
    """The seconds of each call of the configured embedder until the block ends."""
    embedder, seconds = embedding.configured(), list[float]()
    embed = embedder.embed_passages

    def timed(texts: Sequence[str]) -> Vectors:
        start = perf_counter()
        try:
            return embed(texts)
        finally:
            seconds.append(perf_counter() - start)

    vars(embedder)["embed_passages"] = timed  # of this one object, whose class stays as it is
    try:
        yield seconds
    finally:
        del vars(embedder)["embed_passages"]


@contextmanager
def _jobs_at_once() -> Iterator[None]:
    """A job is run where it is enqueued, so that no worker takes it first."""
    before = app.conf.task_always_eager
    app.conf.task_always_eager = True
    try:
        yield
    finally:
        app.conf.task_always_eager = before


def _embedded_texts(job: IngestionJob) -> list[str]:
    job.refresh_from_db()
    if job.state != IngestionJob.State.SUCCEEDED:
        raise RuntimeError(f"The job ended as {job.state}: {job.error_code} {job.error}")
    rows = Passage.objects.filter(tenant=job.tenant_id, document=job.document_id)
    title = job.document.title
    return [
        Segment(title, tuple(row.heading), row.page, row.text, row.tokens).whole
        for row in rows.order_by("position")
    ]


def _embed(texts: list[str]) -> None:
    embedder = embedding.configured()
    for start in range(0, len(texts), embedder.batch):
        embedder.embed_passages(texts[start : start + embedder.batch])
