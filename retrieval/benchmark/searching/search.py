"""The operations that are timed: a search, whole and in parts, and the bare queries beside it."""

from __future__ import annotations

from collections.abc import Sequence

import psycopg
from django.db import connection
from psycopg import sql

from dolphy.cache import valkey
from dolphy.embedding.remembered import name_of
from ingestion.graph import covered_by
from ingestion.indexes import space_of
from retrieval.benchmark.loading.own_index import DEPTH
from retrieval.benchmark.measure import Operation
from retrieval.benchmark.searching.subject import QUESTIONS, Question, Subject
from retrieval.prepared import HalfVector, HalfVectorDumper
from retrieval.retrieve import retrieve
from retrieval.statement import STATEMENT, compose, find, values_of

_BRANCHES = STATEMENT[: STATEMENT.index("pool AS MATERIALIZED")].rpartition("),\n")[0]
_BROUGHT = ") SELECT passage_id FROM reached WHERE lexical_rank <= %(lexical_depth)s"


def select_1(_: int) -> object:
    with psycopg.RawCursor(connection.connection) as cursor:
        return cursor.execute("SELECT 1", prepare=True, binary=True).fetchall()


def own_index_query(of: Subject) -> Operation:
    """The nearest passages on an index of this agent alone (`own_index.py`)."""
    return lambda number: of.own_index.nearest(of.questions[number % len(of.questions)].vector)


def bare_query(of: Subject) -> Operation:
    """The nearest passages in the shared table, inside the same boundary, by the same way as the
    statement: the agent's own graph, or its rows."""
    index = of.index
    way_in = covered_by(index.pk) if index.has_graph else sql.SQL("index_id = $1::int")
    text = (
        sql.SQL(
            "SELECT passage_id, vector::halfvec({width}) <=> $4::halfvec AS distance "
            "FROM ingestion_indexedpassage WHERE {way_in} AND $1::int IS NOT NULL "
            "AND tenant_id = $2 AND agent_id = $3 AND enabled ORDER BY distance LIMIT {depth}"
        )
        .format(width=sql.Literal(index.space.dimensions), way_in=way_in, depth=sql.Literal(DEPTH))
        .as_bytes(None)
    )

    def run(number: int) -> object:
        vector = HalfVector.of(of.questions[number % len(of.questions)].vector)
        with psycopg.RawCursor(connection.connection) as cursor:
            cursor.adapters.register_dumper(HalfVector, HalfVectorDumper)
            values = [index.pk, index.tenant_id, index.agent_id, vector]
            return cursor.execute(text, values, prepare=True, binary=True).fetchall()

    return run


def lexical_query(of: Subject, questions: Sequence[Question]) -> Operation:
    """The keys that the lexical branch brings: the statement up to its pool, without a semantic
    branch."""
    graph = of.index.pk if of.index.has_graph else None
    lexical = compose(_BRANCHES + _BROUGHT, of.index.space.dimensions, graph, 0)

    def run(number: int) -> object:
        asked = questions[number % len(questions)]
        return lexical.rows(values_of(of.index, asked.roots, asked.vector, of.settings))

    return run


def statement(of: Subject, questions: Sequence[Question]) -> Operation:
    def run(number: int) -> object:
        asked = questions[number % len(questions)]
        return find(of.index, asked.roots, asked.vector, of.settings)

    return run


def remember(of: Subject) -> list[str]:
    """Plant the questions' vectors where `retrieve()` looks first; their names in Valkey."""
    names = []
    for asked in of.questions:
        spelled = retrieve(of.agent, asked.text).trace["embedded"]
        names.append(name_of(space_of(of.index), spelled))
        valkey().set(names[-1], asked.vector.tobytes(), ex=3600)
    return names


def whole(of: Subject, names: Sequence[str]) -> dict[str, Operation]:
    """`retrieve()`, with its question's vector remembered and not."""

    def warm(number: int) -> object:
        found = retrieve(of.agent, of.questions[number % QUESTIONS].text)
        if found.trace["vector_from"] != "cache":
            raise RuntimeError("A warm question was embedded.")
        return found

    def cold(number: int) -> object:
        name = names[number % QUESTIONS]
        valkey().delete(name)
        found = retrieve(of.agent, of.questions[number % QUESTIONS].text)
        valkey().set(name, of.questions[number % QUESTIONS].vector.tobytes(), ex=3600)
        return found

    return {"warm_retrieve": warm, "cold_retrieve": cold}
