"""Swap: the new passages of a document take the place of the old ones, in one transaction.

Until it commits the old version answers, afterwards the new one: there is no moment of emptiness
and none of both. The index row is locked meanwhile, so swaps of one agent follow one another and
the count of its passages is exact.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

import numpy as np
from django.db import connection, transaction

from dolphy.embedding import Vectors
from ingestion import files, quotas
from ingestion.analyse import ANALYSER_VERSION, Lexemes
from ingestion.crawl.found import found_on_page
from ingestion.embed import text_key
from ingestion.errors import IndexRetired, JobLost
from ingestion.models import Document, Index, IngestionJob
from ingestion.segment import Segment

_LOCK = "SELECT state FROM ingestion_index WHERE id = %s AND tenant_id = %s FOR UPDATE"
_LET_GO = """
    WITH older AS (
        SELECT id, file FROM ingestion_ingestionjob
        WHERE tenant_id = %s AND document_id = %s AND created_at < %s
            AND state <> ALL(%s) AND file <> ''
        FOR UPDATE
    )
    UPDATE ingestion_ingestionjob AS job SET file = ''
    FROM older WHERE job.id = older.id
    RETURNING older.file
"""
_DELETE = """
    WITH words AS (
        DELETE FROM ingestion_word WHERE document_id = %s AND tenant_id = %s AND agent_id = %s
    )
    DELETE FROM ingestion_passage WHERE document_id = %s AND tenant_id = %s AND agent_id = %s
"""


@dataclass(frozen=True)
class Prepared:
    """All that a swap writes: one entry a passage in `segments`, `lexemes`, `same_text`, `vectors`.

    Vectors come last, when everything else stands.
    `words` are (folded, surface) pairs with their counts over the whole document.
    """

    title: str
    media_type: str
    language: str
    report: dict[str, object]
    segments: Sequence[Segment]
    lexemes: Sequence[Lexemes]
    same_text: Sequence[UUID]
    words: Counter[tuple[str, str]]
    vectors: Vectors | None = None

    def with_vectors(self, vectors: Vectors) -> Prepared:
        return replace(self, vectors=vectors)


def swap(job: IngestionJob, index: Index, prepared: Prepared) -> None:
    """Replace the document's passages and end the job. Raises and changes nothing: `JobLost` when
    the job was cancelled or taken over or its document deleted meanwhile, `IndexRetired` when the
    index was replaced, `QuotaPassages` when others have taken the room."""
    with transaction.atomic():
        quota = quotas.hold(job.tenant_id)
        if _locked_state(index) != Index.State.SERVING:
            raise IndexRetired
        document = (
            Document.objects.select_for_update()
            .filter(pk=job.document_id, tenant=job.tenant_id)
            .first()
        )
        if document is None:
            raise JobLost
        if quota:
            quotas.check_passages(document, len(prepared.segments), quota)
        old_files = _take_files_of_older(job, document)
        removed = _clear(document)
        ids = _write_passages(document, prepared.segments)
        _write_index_rows(document, index, ids, prepared)
        write_words(document, prepared.words)
        _describe(document, job, prepared)
        _count(index, (len(ids) - removed) if document.enabled else 0)
        if not job.succeed():
            raise JobLost
        transaction.on_commit(lambda: files.discard(*old_files), robust=True)


def index_rows(
    document: Document,
    index: Index,
    passages: Iterable[tuple[int, int, str, UUID, Lexemes, Sequence[float]]],
) -> None:
    """COPY (passage id, position, embedded text, same text, lexemes, vector) into the table."""
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY ingestion_indexedpassage (index_id, passage_id, tenant_id, agent_id, "
            "document_id, enabled, uri, position, same_text, text_key, analyser, vector, "
            "stemmed, plain) FROM STDIN"
        ) as copy,
    ):
        for passage, position, text, same, lexemes, vector in passages:
            copy.write_row(
                (
                    index.pk,
                    passage,
                    document.tenant_id,
                    document.agent_id,
                    document.pk,
                    document.enabled,
                    document.uri,
                    position,
                    same,
                    text_key(text),
                    ANALYSER_VERSION,
                    halfvec(vector),
                    tsvector(index.pk, lexemes.stemmed),
                    tsvector(index.pk, lexemes.plain),
                )
            )


def halfvec(vector: Sequence[float]) -> str:
    """PostgreSQL's text form of a vector, with the digits that a float32 has."""
    numbers = tuple(np.asarray(vector).tolist())
    return "[" + ",".join(["%.7g"] * len(numbers)) % numbers + "]"


def tsvector(index: int, lexemes: Iterable[str]) -> str:
    """PostgreSQL's text form of the lexemes, each inside the index it belongs to (`12:iade`)."""
    joined = "\0".join(lexemes)  # no lexeme holds a NUL
    if not joined:
        return ""
    return quoted(scoped(index, joined)).replace("\0", f"' '{scoped(index, '')}")


def scoped(index: int, lexeme: str) -> str:
    return f"{index}:{lexeme}"


def quoted(lexeme: str) -> str:
    """A lexeme as tsvector and tsquery input take it."""
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"


def _take_files_of_older(job: IngestionJob, document: Document) -> list[str]:
    """The files that nothing needs once this version is in place; older jobs let go of theirs."""
    still_open = [state.value for state in IngestionJob.OPEN]
    with connection.cursor() as cursor:
        cursor.execute(_LET_GO, [job.tenant_id, document.pk, job.created_at, still_open])
        names = {document.file, *(name for (name,) in cursor)} - {job.file, ""}
    return sorted(names)


def _locked_state(index: Index) -> str:
    """The state of the index, whose row stays locked until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [index.pk, index.tenant_id])
        found: tuple[str] | None = cursor.fetchone()
    if found is None:
        raise Index.DoesNotExist
    return found[0]


def _clear(document: Document) -> int:
    """Delete the old version; returns how many passages it had."""
    owner = [document.pk, document.tenant_id, document.agent_id]
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, [*owner, *owner])
        return cursor.rowcount


def _write_passages(document: Document, segments: Sequence[Segment]) -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('ingestion_passage', 'id')) "
            "FROM generate_series(1, %s)",
            [len(segments)],
        )
        ids = [row[0] for row in cursor]
        with cursor.copy(
            "COPY ingestion_passage (id, tenant_id, agent_id, document_id, position, heading, "
            "page, text, tokens) FROM STDIN"
        ) as copy:
            for position, (key, part) in enumerate(zip(ids, segments, strict=True)):
                owner = (document.tenant_id, document.agent_id, document.pk)
                copy.write_row(
                    (key, *owner, position, list(part.heading), part.page, part.text, part.tokens)
                )
    return ids


def _write_index_rows(
    document: Document, index: Index, ids: Sequence[int], prepared: Prepared
) -> None:
    if prepared.vectors is None:
        raise ValueError("A swap needs vectors.")
    rows = zip(
        ids,
        range(len(ids)),
        (part.whole for part in prepared.segments),
        prepared.same_text,
        prepared.lexemes,
        prepared.vectors,
        strict=True,
    )
    index_rows(document, index, rows)


def write_words(document: Document, words: Counter[tuple[str, str]]) -> None:
    """COPY (folded, surface) pairs with their counts; the document has none before."""
    with (
        connection.cursor() as cursor,
        cursor.copy(
            "COPY ingestion_word (tenant_id, agent_id, document_id, folded, surface, count) "
            "FROM STDIN"
        ) as copy,
    ):
        # Words are letters alone, so there is nothing to escape, and they are many.
        owner = f"{document.tenant_id}\t{document.agent_id}\t{document.pk}"
        copy.write(
            "".join(
                f"{owner}\t{folded}\t{surface}\t{count}\n"
                for (folded, surface), count in words.items()
            )
        )


def _describe(document: Document, job: IngestionJob, prepared: Prepared) -> None:
    document.state = Document.State.READY
    document.title = prepared.title[:500]
    document.media_type = prepared.media_type
    document.language = prepared.language
    document.report = json.loads(json.dumps(prepared.report)) | found_on_page(document)
    document.passage_count = len(prepared.segments)
    document.sha256, document.size, document.file = job.sha256, job.size, job.file
    document.save()


def _count(index: Index, change: int) -> None:
    """Also tells the index object how large it is now, so that nobody has to ask."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE ingestion_index SET passages = greatest(0, passages + %s) "
            "WHERE id = %s AND tenant_id = %s "
            "RETURNING passages, passages_at_statistics, has_graph",
            [change, index.pk, index.tenant_id],
        )
        if found := cursor.fetchone():
            index.passages, index.passages_at_statistics, index.has_graph = found
