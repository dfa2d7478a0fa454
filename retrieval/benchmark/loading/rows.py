"""Invented rows on their way into the tables: binary COPY, a block at a time.

Ingestion's own COPY writes text, which is right for a document and slow for a million rows: a
vector is 384 numbers to print and to read, a passage 270 lexemes to quote. `INDEXED` and `PASSAGES`
are the only places where this benchmark names columns that ingestion writes.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import psycopg
from django.db import connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.types.numeric import Int2, Int4, Int8

from dolphy.embedding import Vectors
from ingestion.analyse import ANALYSER_VERSION
from ingestion.models import Document, Index
from retrieval.prepared import HalfVector, HalfVectorDumper

INDEXED = (
    "index_id, analyser, enabled, passage_id, position, tenant_id, agent_id, document_id, "
    "same_text, text_key, uri, vector, stemmed, plain"
)
PASSAGES = "id, tenant_id, agent_id, document_id, position, heading, page, text, tokens"


@dataclass(frozen=True, slots=True)
class Content:
    """A passage's text and lexemes, ready to be written any number of times.

    Lexemes are sorted UTF-8, without the key of an index.
    """

    text: str
    same_text: UUID
    stemmed: tuple[bytes, ...]
    plain: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """A passage in its place: its key, its document, its position there."""

    key: int
    document: Document
    position: int
    content: Content


def passage_ids(count: int) -> list[int]:
    """New keys, in order, drawn in one call."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence('ingestion_passage', 'id')) "
            "FROM generate_series(1, %s)",
            [count],
        )
        return [key for (key,) in cursor]


def write_passages(placed: Iterable[Placed], tokens: int) -> None:
    with _copy("ingestion_passage", PASSAGES) as copy:
        for one in placed:
            document = one.document
            copy.write_row(
                (
                    Int8(one.key),
                    document.tenant_id,
                    document.agent_id,
                    document.pk,
                    Int4(one.position),
                    [document.title],
                    None,
                    one.content.text,
                    Int4(tokens),
                )
            )


def write_indexed(index: Index, placed: Iterable[Placed], vectors: Vectors) -> None:
    """`vectors`: one a passage, shape (passages, width)."""
    key, analyser, lead = Int4(index.pk), Int2(ANALYSER_VERSION), f"{index.pk}:".encode()
    with _copy("ingestion_indexedpassage", INDEXED) as copy:
        for one, vector in zip(placed, vectors, strict=True):
            document, content = one.document, one.content
            copy.write_row(
                (
                    key,
                    analyser,
                    True,
                    Int8(one.key),
                    Int4(one.position),
                    document.tenant_id,
                    document.agent_id,
                    document.pk,
                    content.same_text,
                    content.same_text,
                    document.uri,
                    HalfVector.of(vector),
                    TsVector.of(lead, content.stemmed),
                    TsVector.of(lead, content.plain),
                )
            )


class TsVector(bytes):
    """A tsvector as PostgreSQL reads it in binary: each lexeme, a zero byte, no positions."""

    _END = b"\0\0\0"

    @classmethod
    def of(cls, lead: bytes, lexemes: Sequence[bytes]) -> TsVector:
        """`lexemes` sorted, each with the key of its index in front (`lead`)."""
        count = struct.pack(">i", len(lexemes))
        if not lexemes:
            return cls(count)
        return cls(count + lead + (cls._END + lead).join(lexemes) + cls._END)


class TsVectorDumper(Dumper):
    format = Format.BINARY

    def dump(self, obj: TsVector) -> bytes:
        return obj


@contextmanager
def _copy(table: str, columns: str) -> Iterator[Any]:
    connection.ensure_connection()
    with psycopg.Cursor(connection.connection) as cursor:
        cursor.adapters.register_dumper(HalfVector, HalfVectorDumper)
        cursor.adapters.register_dumper(TsVector, TsVectorDumper)
        with cursor.copy(f"COPY {table} ({columns}) FROM STDIN (FORMAT BINARY)") as copy:
            yield copy
