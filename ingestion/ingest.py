"""Ingest: a document becomes passages. Reads top to bottom.

    receive → start → parse → segment → analyse → embed → swap

`receive` (in its own module) keeps the bytes and queues a job. Here the job is started, which only
one of two deliveries can; its file is parsed to blocks, cut into segments, analysed into lexemes
and embedded outside any transaction; at the end the document's passages are swapped inside one.
Until then the last good version answers. A fault of the document ends the job with the reason; a
fault of the surroundings (the embedder or the database is away) puts it back into the queue, and a
long job makes room between two batches for a tenant who waits, as it does when its worker ends.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

from dolphy import embedding, stopping
from dolphy.errors import DolphyError, Unavailable
from ingestion import files
from ingestion.analyse import analyse_passage, count_surface_forms, normalise, words_of
from ingestion.embed import forget, text_key, vectors_for
from ingestion.errors import DatabaseUnavailable, JobLost, PassagesRefused, WorkerDied
from ingestion.faults import is_database_away, put_back
from ingestion.graph import fit, wants_graph, wants_statistics
from ingestion.heartbeat import heartbeat
from ingestion.indexes import index_for, space_of
from ingestion.models import Document, Index, IngestionJob
from ingestion.parsing import ParsedDocument
from ingestion.parsing.apart import parse
from ingestion.parsing.errors import NoContent
from ingestion.parsing.progress import Progress
from ingestion.queue import enqueue
from ingestion.quotas import check_passages
from ingestion.segment import Segment, segment
from ingestion.swap import Prepared, swap
from ingestion.trust import check_trust
from ingestion.turns import BATCHES_A_TURN, GaveWay, Turn, claim
from ingestion.unfinished import keep, take

logger = logging.getLogger(__name__)
Stage = IngestionJob.Stage
REPORT_SECONDS = 1.0  # between two reports of the pages read


def ingest_next() -> IngestionJob | None:
    """What a worker does: the job whose turn it is, or a turn of it; None without a job."""
    job = claim()
    if job is None:
        return None
    with suppress(Unavailable):  # it is in the job, and the sweep sends the job again
        return _work(job, Turn(job, BATCHES_A_TURN))
    return job


def ingest(job_id: uuid.UUID | str) -> IngestionJob | None:
    """Do one job, from its row; None when it is gone, running elsewhere, or already ended.

    Raises `Unavailable` after putting the job back, so that the caller can try again later.
    """
    job = IngestionJob.objects.select_related("document", "agent").filter(pk=job_id).first()
    if job is None or not job.start():
        return None
    return _work(job, Turn(job))


def _work(job: IngestionJob, turn: Turn) -> IngestionJob:
    """The started job, as far as it goes. Every way out leaves the row telling which."""
    try:
        if job.attempts > IngestionJob.MAX_ATTEMPTS:
            raise WorkerDied
        with heartbeat(job):
            _ingest(job, turn)
    except JobLost:
        _forget_ended(job)
    except GaveWay:
        enqueue(job)
    except Unavailable as error:
        put_back(job, error)
        raise
    except DolphyError as error:
        _fail(job, error)
    except Exception as error:
        if is_database_away(error):
            logger.warning("Job %s lost the database: %s", job.pk, error)
            away = DatabaseUnavailable()
            put_back(job, away)
            raise away from error
        logger.exception("Job %s failed", job.pk)
        _fail(job, DolphyError(type(error).__name__))
    return job


def _ingest(job: IngestionJob, turn: Turn) -> None:
    index = index_for(job.agent)
    check_trust(index)
    embedder = embedding.of(space_of(index))

    prepared = take(job, embedder) or _prepare(job, embedder)

    _at(job, Stage.EMBEDDING)
    try:
        vectors = _embed(job, index, embedder, prepared.segments, turn)
    except GaveWay:
        keep(job, embedder, prepared)
        raise

    _at(job, Stage.INDEXING)
    swap(job, index, prepared.with_vectors(vectors))
    forget(job)
    if wants_graph(index) != index.has_graph or wants_statistics(index):  # as the swap left it
        fit(index)


def _prepare(job: IngestionJob, embedder: embedding.Embedder) -> Prepared:
    _at(job, Stage.PARSING, 0, 0)
    parsed = parse(files.read(job.file), job.name, progress=_pages_read(job))
    title = job.document.given_title or parsed.title or job.name

    _at(job, Stage.SEGMENTING, 0, 0)
    segments = segment(
        parsed, title=title, count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens
    )
    if not segments:
        raise NoContent("It holds headings only.", report=parsed.report.as_dict())
    check_passages(job.document, len(segments))

    _at(job, Stage.ANALYSING)
    return _analyse(job, parsed, title, segments)


def _pages_read(job: IngestionJob) -> Progress:
    """Reports at most once in a while: a row is not written for each of a thousand pages."""
    due = time.monotonic() + REPORT_SECONDS

    def progress(done: int, total: int) -> None:
        nonlocal due
        if time.monotonic() >= due:
            _at(job, Stage.PARSING, done, total)
            due = time.monotonic() + REPORT_SECONDS

    return progress


def _embed(
    job: IngestionJob,
    index: Index,
    embedder: embedding.Embedder,
    segments: Sequence[Segment],
    turn: Turn,
) -> embedding.Vectors:
    started = False

    def progress(done: int, total: int) -> None:
        nonlocal started
        _at(job, Stage.EMBEDDING, done, total)
        if started and done < total:
            turn.batch_done()
        started = True

    try:
        return vectors_for(job, index, embedder, [part.whole for part in segments], progress)
    except PassagesRefused as error:
        where = {n: " › ".join(segments[n].heading) or "no heading" for n in error.refused}
        raise PassagesRefused(error.refused, where) from error


def _analyse(
    job: IngestionJob, parsed: ParsedDocument, title: str, segments: tuple[Segment, ...]
) -> Prepared:
    language = job.agent.language
    words: Counter[str] = Counter()
    lexemes = []
    for part in segments:
        whole = part.whole
        lexemes.append(analyse_passage(whole, language))
        words.update(words_of(whole))
    return Prepared(
        title=title,
        media_type=parsed.report.media_type,
        language=parsed.report.language or "",
        report=parsed.report.as_dict(),
        segments=segments,
        lexemes=lexemes,
        same_text=[text_key(normalise(part.text)) for part in segments],
        words=count_surface_forms(words, language),
    )


def _at(job: IngestionJob, stage: str, done: int | None = None, total: int | None = None) -> None:
    """Report; without numbers those of before hold. Raises `JobLost` when the job is not ours, and
    `GaveWay` when the worker is to end."""
    done, total = (job.done, job.total) if done is None or total is None else (done, total)
    if not job.progress(stage, done, total):
        raise JobLost
    if stopping.asked() and job.hand_back():
        logger.info("Job %s goes back into the queue: this worker ends", job.pk)
        raise GaveWay


def _fail(job: IngestionJob, error: DolphyError) -> None:
    """End the job with its reason. A document that never had a good version needs attention."""
    report = error.context.get("report")
    if not job.fail(error.code, error.message):
        _forget_ended(job)
        return
    Document.objects.filter(pk=job.document_id, tenant=job.tenant_id, passage_count=0).update(
        state=Document.State.ATTENTION, report=report if isinstance(report, dict) else {}
    )
    forget(job)


def _forget_ended(job: IngestionJob) -> None:
    """What is kept beside a job is needed until it has ended, if only by another worker."""
    row = IngestionJob.objects.filter(pk=job.pk, tenant=job.tenant_id)
    if not row.filter(state__in=IngestionJob.OPEN).exists():
        forget(job)
