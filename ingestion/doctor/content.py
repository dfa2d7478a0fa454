"""Documents against their passages, and passages against the index that serves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

from django.db import connection, transaction

from ingestion.analyse import ANALYSER_VERSION
from ingestion.doctor.finding import Finding
from ingestion.documents import original_name
from ingestion.models import Document, Index, IngestionJob
from ingestion.receive import receive_again

_MISCOUNTED = """
    SELECT document.id, document.uri, document.passage_count, count(passage.id)
    FROM ingestion_document AS document
    LEFT JOIN ingestion_passage AS passage ON passage.document_id = document.id
        AND passage.tenant_id = document.tenant_id AND passage.agent_id = document.agent_id
    WHERE document.removed_at IS NULL
    GROUP BY document.id, document.tenant_id, document.agent_id
    HAVING document.passage_count <> count(passage.id)
    ORDER BY document.id
"""
_UNINDEXED = """
    SELECT document.id, document.uri, count(*)
    FROM ingestion_passage AS passage
    JOIN ingestion_document AS document ON document.id = passage.document_id
        AND document.tenant_id = passage.tenant_id AND document.agent_id = passage.agent_id
    LEFT JOIN ingestion_index AS serving ON serving.tenant_id = passage.tenant_id
        AND serving.agent_id = passage.agent_id AND serving.state = 'serving'
    LEFT JOIN ingestion_indexedpassage AS row ON row.index_id = serving.id
        AND row.passage_id = passage.id AND row.tenant_id = passage.tenant_id
    WHERE row.passage_id IS NULL AND document.removed_at IS NULL
    GROUP BY document.id, document.uri
    ORDER BY document.id
"""
_STALE = """
    SELECT document.id, document.uri, count(*)
    FROM ingestion_indexedpassage AS row
    JOIN ingestion_index AS serving ON serving.id = row.index_id
        AND serving.tenant_id = row.tenant_id AND serving.state = 'serving'
    JOIN ingestion_document AS document ON document.id = row.document_id
        AND document.tenant_id = row.tenant_id AND document.agent_id = row.agent_id
    WHERE row.analyser <> %(version)s
    GROUP BY document.id, document.uri
    ORDER BY document.id
"""
_DIFFERING = """
    SELECT row.index_id, count(*)
    FROM ingestion_indexedpassage AS row
    JOIN ingestion_passage AS passage ON passage.id = row.passage_id
        AND passage.tenant_id = row.tenant_id AND passage.agent_id = row.agent_id
    JOIN ingestion_document AS document ON document.id = passage.document_id
        AND document.tenant_id = passage.tenant_id AND document.agent_id = passage.agent_id
    WHERE (row.enabled, row.uri, row.position, row.document_id)
        IS DISTINCT FROM (document.enabled, document.uri, passage.position, document.id)
    GROUP BY row.index_id
    ORDER BY row.index_id
"""
_ALIGN = """
    UPDATE ingestion_indexedpassage AS row
    SET enabled = document.enabled, uri = document.uri, position = passage.position,
        document_id = document.id
    FROM ingestion_passage AS passage
    JOIN ingestion_document AS document ON document.id = passage.document_id
        AND document.tenant_id = passage.tenant_id AND document.agent_id = passage.agent_id
    WHERE row.index_id = %(index)s AND passage.id = row.passage_id
        AND passage.tenant_id = row.tenant_id AND passage.agent_id = row.agent_id
        AND (row.enabled, row.uri, row.position, row.document_id)
        IS DISTINCT FROM (document.enabled, document.uri, passage.position, document.id)
"""
_STRAY_WORDS = """
    FROM ingestion_word AS word
    USING ingestion_document AS document
    WHERE document.id = word.document_id AND document.tenant_id = word.tenant_id
        AND document.agent_id = word.agent_id AND document.passage_count = 0
"""


def miscounted_documents() -> Iterator[Finding]:
    """Documents that have other passages than they say, or none although they are ready."""
    for key, uri, said, found in _rows(_MISCOUNTED):
        what = f"{uri} says that it has {said} passages, and {found} are there."
        yield Finding("document_miscounted", f"document {key}", what, _again(key))


def unindexed_passages() -> Iterator[Finding]:
    """Passages that no search can find: the index that serves does not hold them."""
    for key, uri, count in _rows(_UNINDEXED):
        what = f"{count} passages of {uri} are not in the index that serves."
        yield Finding("index_underfilled", f"document {key}", what, _again(key))


def stale_passages() -> Iterator[Finding]:
    """Passages whose lexemes an older analyser made."""
    for key, uri, count in _rows(_STALE, version=ANALYSER_VERSION):
        what = f"{count} passages of {uri} were analysed by another version."
        yield Finding("analyser_stale", f"document {key}", what, _again(key))


def differing_rows() -> Iterator[Finding]:
    """Rows of an index that say something else than the document they are of."""
    for index, count in _rows(_DIFFERING):
        what = f"{count} rows differ from their documents."
        yield Finding("index_differs", f"index {index}", what, _align(index))


def stray_words() -> Iterator[Finding]:
    """Words of documents that have no passages."""
    ((count,),) = _rows("SELECT count(*) " + _STRAY_WORDS.replace("USING", "CROSS JOIN"))
    if count:
        what = f"{count} words are kept of documents without passages."
        yield Finding("words_stray", "words", what, _delete_words)


def _rows(statement: str, **values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall())


def _again(document: UUID) -> Callable[[], str]:
    """The document goes through ingestion again; what it says until then is still served."""

    def repair() -> str:
        row = Document.objects.get(pk=document)
        jobs = IngestionJob.objects.filter(tenant=row.tenant_id, document=row)
        if jobs.filter(state__in=IngestionJob.OPEN).exists():
            return "a job is at work on it already"
        receive_again(row, original_name(row), row.file)
        return "a job is queued"

    return repair


def _align(index: int) -> Callable[[], str]:
    def repair() -> str:
        with transaction.atomic(), connection.cursor() as cursor:
            Index.objects.select_for_update(no_key=True).get(pk=index)
            cursor.execute(_ALIGN, {"index": index})
            return f"{cursor.rowcount} rows corrected"

    return repair


def _delete_words() -> str:
    with connection.cursor() as cursor:
        cursor.execute("DELETE " + _STRAY_WORDS)
        return f"{cursor.rowcount} removed"
