"""The yardstick: an agent's vectors in a table of their own, and nothing but the nearest forty.

No boundary, no other agents, no text: the least that an approximate search can cost here. The
table lies in the run's schema and goes with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg
from django.db import connection
from psycopg import sql

from dolphy.embedding import Vectors
from ingestion.graph import BUILD_DEPTH, NEIGHBOURS
from ingestion.models import Index
from retrieval.benchmark.loading import scratch
from retrieval.benchmark.loading.load import room_for_graph
from retrieval.prepared import HalfVector, HalfVectorDumper
from tenants.models import Tenant

DEPTH = 40
_MAKE = (
    "CREATE UNLOGGED TABLE {table} (passage_id bigint NOT NULL, vector halfvec({width}) NOT NULL)",
    "INSERT INTO {table} SELECT passage_id, vector FROM ingestion_indexedpassage "
    "WHERE index_id = {index}",
    "CREATE INDEX ON {table} USING hnsw (vector halfvec_cosine_ops) "
    "WITH (m = {neighbours}, ef_construction = {build_depth})",
    "VACUUM (ANALYZE) {table}",
)
_NEAREST = "SELECT passage_id FROM {table} ORDER BY vector <=> $1::halfvec LIMIT {depth}"


@dataclass(frozen=True)
class OwnIndex:
    """The copy of one agent's vectors, with an HNSW index of the same kind as an agent's graph."""

    query: bytes

    def nearest(self, question: Vectors) -> Sequence[int]:
        """The keys of the nearest `DEPTH` passages, with the session's settings, prepared."""
        with psycopg.RawCursor(connection.connection) as cursor:
            cursor.adapters.register_dumper(HalfVector, HalfVectorDumper)
            cursor.execute(self.query, [HalfVector.of(question)], prepare=True, binary=True)
            return [key for (key,) in cursor.fetchall()]


def make(owner: Tenant, index: Index) -> OwnIndex:
    """Copy and index the vectors of `index`."""
    table = sql.SQL(".").join([scratch.schema(owner), sql.Identifier(f"own_index_{index.pk}")])
    parts = {
        "table": table,
        "width": sql.Literal(index.space.dimensions),
        "index": sql.Literal(index.pk),
        "neighbours": sql.Literal(NEIGHBOURS),
        "build_depth": sql.Literal(BUILD_DEPTH),
    }
    with room_for_graph(index.passages, index.space.dimensions), connection.cursor() as cursor:
        for step in _MAKE:
            cursor.execute(sql.SQL(step).format(**parts))
    query = sql.SQL(_NEAREST).format(table=table, depth=sql.Literal(DEPTH))
    return OwnIndex(query.as_bytes(None))
