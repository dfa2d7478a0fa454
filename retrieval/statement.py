"""The retrieval statement, composed and run: `statement.sql` in one round trip.

Session settings (ef_search, iterative scan) are made when the connection opens. The SQL text is
the same for all small indexes, so PostgreSQL plans it once a connection; an index with a graph of
its own has its key in the text, for the planner takes a partial index only for a literal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import psycopg
from django.db import connection
from psycopg import sql
from psycopg.rows import namedtuple_row

from dolphy.embedding import Vectors
from ingestion.analyse import Root
from ingestion.models import Index
from ingestion.swap import quoted, scoped
from retrieval.measured import Measured
from tenants.models import Agent

RRF_K = 60
LEXICAL_BOUND = 500
_TEXT = (Path(__file__).parent / "statement.sql").read_text()


@dataclass(frozen=True)
class Settings:
    """How one retrieval selects: the agent's settings, with what the request overrides."""

    fusion: str
    semantic_weight: float
    lexical_weight: float
    semantic_depth: int
    lexical_depth: int
    limit: int
    document_cap: int
    strongest_document_cap: int
    rrf_k: int = RRF_K
    lexical_bound: int = LEXICAL_BOUND


def settings_of(
    agent: Agent, known: Measured, *, limit: int | None = None, fusion: str | None = None
) -> Settings:
    """The agent's own weights, else those known for its space. A branch by itself reads nothing of
    the other."""
    chosen = fusion or agent.fusion
    return Settings(
        fusion=chosen,
        semantic_weight=_first(agent.semantic_weight, known.semantic_weight),
        lexical_weight=_first(agent.lexical_weight, known.lexical_weight),
        semantic_depth=0 if chosen == "lexical" else agent.semantic_depth,
        lexical_depth=0 if chosen == "semantic" else agent.lexical_depth,
        limit=limit or agent.evidence_limit,
        document_cap=agent.document_cap,
        strongest_document_cap=agent.strongest_document_cap,
    )


def _first(own: float | None, known: float) -> float:
    return known if own is None else own


def candidates(
    index: Index, roots: Sequence[Root], vector: Vectors, settings: Settings
) -> list[Any]:
    """The whole pool in fused order, one row a candidate; evidence rows have a rank and text."""
    connection.ensure_connection()
    values = {
        **vars(settings),
        "tenant": index.tenant_id,
        "agent": index.agent_id,
        "index": index.pk,
        "passages": index.passages,
        "question": "[" + ",".join(map(repr, vector.tolist())) + "]",
        **_root_values(index, roots),
    }
    with psycopg.Cursor(connection.connection, row_factory=namedtuple_row) as cursor:
        cursor.execute(text(index, settings), values, prepare=True, binary=True)
        return cursor.fetchall()


def text(index: Index, settings: Settings) -> bytes:
    graph = index.pk if index.has_graph else None
    return _composed(index.space.dimensions, graph, settings.semantic_depth)


@lru_cache(maxsize=1024)
def _composed(width: int, graph: int | None, depth: int) -> bytes:
    key = sql.Placeholder("index") if graph is None else sql.Literal(graph)
    return (
        sql.SQL(_TEXT)
        .format(width=sql.Literal(width), index=key, semantic_depth=sql.Literal(depth))
        .as_bytes(None)
    )


def _root_values(index: Index, roots: Sequence[Root]) -> dict[str, list[Any]]:
    """Each root as two tsqueries over lexemes inside this index, and its forms one by one."""
    forms = [
        (number, scoped(index.pk, form))
        for number, root in enumerate(roots, 1)
        for form in dict.fromkeys((*root.stemmed, *root.plain))
    ]
    return {
        "stemmed": [_any_of(index, root.stemmed) for root in roots],
        "plain": [_any_of(index, root.plain) for root in roots],
        "form_numbers": [number for number, _ in forms],
        "forms": [form for _, form in forms],
    }


def _any_of(index: Index, lexemes: Sequence[str]) -> str:
    return " | ".join(quoted(scoped(index.pk, lexeme)) for lexeme in lexemes)
