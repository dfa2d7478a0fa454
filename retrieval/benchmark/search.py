"""What a search costs, beside the bare query that it is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import psycopg
from django.db import connection
from psycopg import sql

from dolphy.cache import valkey
from dolphy.embedding import Vectors
from dolphy.embedding.remembered import name_of
from ingestion.analyse import Root, analyse_question, question_pairs
from ingestion.graph import covered_by
from ingestion.indexes import space_of
from ingestion.models import Index, serving_index
from retrieval.benchmark.invent import Inventor
from retrieval.benchmark.measure import Operation, Timing, in_turns
from retrieval.evaluation.progress import Tell
from retrieval.measured import measured
from retrieval.retrieve import retrieve
from retrieval.statement import (
    HalfVector,
    HalfVectorDumper,
    Settings,
    candidates,
    find,
    settings_of,
)
from tenants.models import Agent

DEPTH = 40
QUESTIONS = 60


@dataclass(frozen=True)
class Question:
    text: str
    roots: tuple[Root, ...]
    vector: Vectors


@dataclass(frozen=True)
class Subject:
    """An agent that is measured, and what it is asked."""

    agent: Agent
    index: Index
    questions: Sequence[Question]
    common: Sequence[Question]

    @cached_property
    def settings(self) -> Settings:
        return settings_of(self.agent, measured(self.index.space))


def subject(agent: Agent, vectors: Vectors, inventor: Inventor) -> Subject:
    index = serving_index(agent)
    if index is None:
        raise ValueError("The agent has nothing to search.")
    near = inventor.near(vectors[[n % len(vectors) for n in range(2 * QUESTIONS)]])

    def asked(make: Callable[[], str], chosen: Vectors) -> list[Question]:
        texts = [make() for _ in chosen]
        return [
            Question(text, (*analyse_question(text), *question_pairs(text)), vector)
            for text, vector in zip(texts, chosen, strict=True)
        ]

    return Subject(
        agent,
        index,
        asked(inventor.question, near[:QUESTIONS]),
        asked(inventor.common_question, near[QUESTIONS:]),
    )


def select_1(_: int) -> object:
    with psycopg.RawCursor(connection.connection) as cursor:
        return cursor.execute("SELECT 1", prepare=True, binary=True).fetchall()


def bare_query(of: Subject) -> Operation:
    """The nearest passages and nothing else: same boundary, same driver, prepared, by the same way
    (the agent's own graph, or its rows)."""
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


def figures(of: Subject, rounds: int, tell: Tell) -> dict[str, Any]:
    """One agent's line: its pool, recall and costs."""
    taken = in_turns(
        {
            "bare": bare_query(of),
            "statement": statement(of, of.questions),
            "common": statement(of, of.common),
        },
        rounds,
        tell,
    )
    pools, recalls, routes = _against_exact(of)
    return {
        "passages": of.index.passages,
        "route": "graph" if of.index.has_graph else "exact",
        "pool": min(pools),
        "recall_at_40": round(sum(recalls) / len(recalls), 4),
        "refilled": sum(route not in ("graph", "exact") for route in routes),
        "p50_ms": taken["statement"].p50,
        "p95_ms": taken["statement"].p95,
        "vector_top40": taken["bare"].as_dict(),
        "common_words": taken["common"].as_dict(),
        "ratio_p50": ratio(taken, "p50", "statement"),
        "ratio_p95": ratio(taken, "p95", "statement"),
        "common_ratio_p95": ratio(taken, "p95", "common"),
    }


def ratio(taken: Mapping[str, Timing], which: str, name: str, to: str = "bare") -> float:
    return round(float(getattr(taken[name], which) / getattr(taken[to], which)), 2)


def _against_exact(of: Subject) -> tuple[list[int], list[float], list[str]]:
    """For each question the semantic branch's size, its share of the true nearest, its route."""
    pools, recalls, routes = [], [], []
    for asked in of.questions:
        found = find(of.index, asked.roots, asked.vector, of.settings)
        exact = candidates(of.index, (), asked.vector, of.settings, exact=True)
        truth = {row.passage_id for row in exact}
        brought = {row.passage_id for row in found.rows if row.semantic_rank is not None}
        pools.append(found.semantic)
        recalls.append(len(truth & brought) / max(1, len(truth)))
        routes.append(found.route)
    return pools, recalls, routes
