"""Ingest: a document becomes passages. Reads top to bottom.

    receive → start → parse → segment → analyse → embed → swap

`receive` (in its own module) keeps the bytes and queues a job. Here the job is started, which only
one of two deliveries can; its file is parsed to blocks, cut into segments, analysed into lexemes
and embedded outside any transaction; at the end the document's passages are swapped inside one.
Until then the last good version answers. A fault of the document ends the job with the reason; a
fault of the surroundings (the embedder is away) puts it back into the queue.
"""

from __future__ import annotations

import logging
import uuid
from collections import Counter

from dolphy import embedding
from dolphy.errors import DolphyError, Unavailable
from ingestion import files
from ingestion.analyse import analyse_passage, normalise, surface_forms
from ingestion.embed import forget, text_key, vectors_for
from ingestion.errors import JobLost, WorkerDied
from ingestion.graph import fit
from ingestion.heartbeat import heartbeat
from ingestion.indexes import index_for, space_of
from ingestion.models import Document, IngestionJob
from ingestion.parsing import ParsedDocument, parse
from ingestion.parsing.errors import NoContent
from ingestion.segment import Segment, segment
from ingestion.swap import Prepared, swap
from ingestion.trust import check_trust

logger = logging.getLogger(__name__)
Stage = IngestionJob.Stage


def ingest(job_id: uuid.UUID | str) -> IngestionJob | None:
    """Do one job, from its row; None when it is gone, running elsewhere, or already ended.

    Raises `Unavailable` after putting the job back, so that the caller can try again later.
    """
    job = IngestionJob.objects.select_related("document", "agent").filter(pk=job_id).first()
    if job is None or not job.start():
        return None
    try:
        if job.attempts > IngestionJob.MAX_ATTEMPTS:
            raise WorkerDied
        with heartbeat(job):
            _ingest(job)
    except JobLost:
        forget(job)
    except Unavailable as error:
        job.release(error.code, error.message)
        raise
    except DolphyError as error:
        _fail(job, error)
    except Exception as error:
        logger.exception("Job %s failed", job.pk)
        _fail(job, DolphyError(type(error).__name__))
    return job


def _ingest(job: IngestionJob) -> None:
    index = index_for(job.agent)
    check_trust(index)
    embedder = embedding.of(space_of(index))

    _at(job, Stage.PARSING)
    parsed = parse(files.read(job.file), job.name)
    title = job.document.given_title or parsed.title or job.name

    _at(job, Stage.SEGMENTING)
    segments = segment(
        parsed, title=title, count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens
    )

    if not segments:
        raise NoContent("It holds headings only.", report=parsed.report.as_dict())

    _at(job, Stage.ANALYSING)
    prepared = _analyse(job, parsed, title, segments)

    vectors = vectors_for(
        job,
        index,
        embedder,
        [part.whole for part in segments],
        lambda done, total: _at(job, Stage.EMBEDDING, done, total),
    )

    _at(job, Stage.INDEXING, job.done, job.total)
    swap(job, index, prepared.with_vectors(vectors))
    forget(job)
    fit(index)


def _analyse(
    job: IngestionJob, parsed: ParsedDocument, title: str, segments: tuple[Segment, ...]
) -> Prepared:
    language = job.agent.language
    words: Counter[tuple[str, str]] = Counter()
    for part in segments:
        words.update(surface_forms(part.whole, language))
    return Prepared(
        title=title,
        media_type=parsed.report.media_type,
        language=parsed.report.language or "",
        report=parsed.report.as_dict(),
        segments=segments,
        lexemes=[analyse_passage(part.whole, language) for part in segments],
        same_text=[text_key(normalise(part.text)) for part in segments],
        words=words,
    )


def _at(job: IngestionJob, stage: str, done: int = 0, total: int = 0) -> None:
    if not job.progress(stage, done, total):
        raise JobLost


def _fail(job: IngestionJob, error: DolphyError) -> None:
    """End the job with its reason. A document that never had a good version needs attention."""
    report = error.context.get("report")
    job.fail(error.code, error.message)
    Document.objects.filter(
        pk=job.document_id, tenant=job.tenant_id, state=Document.State.WAITING
    ).update(state=Document.State.ATTENTION, report=report if isinstance(report, dict) else {})
    forget(job)
