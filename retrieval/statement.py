"""The retrieval statement, composed and run: `statement.sql` in one round trip.

Session settings (ef_search, iterative scan) are made when the connection opens. The SQL text is
the same for all small indexes, so PostgreSQL plans it once a connection; an index with a graph of
its own has its key in the text, for the planner takes a partial index only for a literal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from psycopg import sql
from psycopg.types.numeric import Int4

from dolphy.embedding import Vectors
from ingestion.analyse import Root
from ingestion.graph import covered_by
from ingestion.models import Index
from ingestion.swap import quoted, scoped
from retrieval.measured import Measured
from retrieval.prepared import HalfVector, Prepared
from tenants.models import Agent

RRF_K = 60
LEXICAL_BOUND = 300
REFILLED = "exact after underfill"
STATEMENT = (Path(__file__).parent / "statement.sql").read_text()


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


@dataclass(frozen=True)
class Found:
    """The whole pool in fused order, one row a candidate; evidence rows have a rank and text.

    `route` says how the semantic branch went: `exact`, `graph`, or `REFILLED` when the graph gave
    fewer rows than there are and an exact scan took its place.
    """

    rows: list[Any]
    route: str

    @property
    def semantic(self) -> int:
        return sum(row.semantic_rank is not None for row in self.rows)


def find(index: Index, roots: Sequence[Root], vector: Vectors, settings: Settings) -> Found:
    """Run the statement; once more and exactly, if the graph did not fill its branch."""
    if index.has_graph:
        found = Found(candidates(index, roots, vector, settings), "graph")
        if found.semantic >= available(index, settings):
            return found
        exact = candidates(index, roots, vector, settings, exact=True)
        return Found(exact, REFILLED)
    return Found(candidates(index, roots, vector, settings), "exact")


def available(index: Index, settings: Settings) -> int:
    """How many passages the semantic branch must bring."""
    return min(settings.semantic_depth, index.passages)


def candidates(
    index: Index,
    roots: Sequence[Root],
    vector: Vectors,
    settings: Settings,
    *,
    exact: bool = False,
) -> list[Any]:
    """One run of the statement, by the index's graph if it has one and `exact` is not asked."""
    graph = index.pk if index.has_graph and not exact else None
    statement = composed(index.space.dimensions, graph, settings.semantic_depth)
    return statement.rows(values_of(index, roots, vector, settings))


@lru_cache(maxsize=1024)
def composed(width: int, graph: int | None, depth: int) -> Prepared:
    """The statement for a width of vectors, by the graph of an index or by its key, to a depth."""
    return compose(STATEMENT, width, graph, depth)


def compose(text: str, width: int, graph: int | None, depth: int) -> Prepared:
    """The same for a text with the statement's `{…}`, such as a part of it."""
    key = sql.Placeholder("index")
    return Prepared.of(
        sql.SQL(text)
        .format(
            width=sql.Literal(width),
            index=key,
            way_in=sql.SQL("index_id = {}").format(key) if graph is None else covered_by(graph),
            semantic_depth=sql.Literal(depth),
        )
        .as_string(None)
    )


def values_of(
    index: Index, roots: Sequence[Root], vector: Vectors, settings: Settings
) -> dict[str, Any]:
    """Every parameter by name. Whole numbers all go as int4: one text, one prepared statement."""
    numbers = {**vars(settings), "index": index.pk, "passages": index.passages}
    return {
        **{name: Int4(v) if isinstance(v, int) else v for name, v in numbers.items()},
        "tenant": index.tenant_id,
        "agent": index.agent_id,
        "question": HalfVector.of(vector),
        **_root_values(index, roots),
    }


def _root_values(index: Index, roots: Sequence[Root]) -> dict[str, str]:
    """Each root as two tsqueries over lexemes inside this index, its weight, and its forms one by
    one, which are left out where nothing was counted: every root is rare there."""
    forms = [
        (number, scoped(index.pk, form))
        for number, root in enumerate(roots, 1)
        for form in dict.fromkeys((*root.stemmed, *root.plain))
        if index.passages_at_statistics
    ]
    return {
        **forms_of(index, roots),
        "weights": _array(repr(root.weight) for root in roots),
        "form_numbers": _array(str(number) for number, _ in forms),
        "forms": _array(form for _, form in forms),
    }


def forms_of(index: Index, roots: Sequence[Root]) -> dict[str, str]:
    """The stemmed and the plain forms of each root, as arrays of tsqueries."""
    return {
        "stemmed": _array(_any_of(index, root.stemmed) for root in roots),
        "plain": _array(_any_of(index, root.plain) for root in roots),
    }


def _array(elements: Iterable[str]) -> str:
    """PostgreSQL's text form of an array: the driver's own takes a fifth of the client's time."""
    quoted = (element.replace("\\", "\\\\").replace('"', '\\"') for element in elements)
    return "{" + ",".join(f'"{element}"' for element in quoted) + "}"


def _any_of(index: Index, lexemes: Sequence[str]) -> str:
    return " | ".join(quoted(scoped(index.pk, lexeme)) for lexeme in lexemes)
