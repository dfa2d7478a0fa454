"""Retrieve: a question becomes evidence. Reads top to bottom.

    check → slips put right → roots → respelled if need be → embed (cached) → one statement
    → evidence and trace

A question goes in as typed. A slip of the finger is put right for both branches (`slips.py`), one
typed in capitals or without diacritics is embedded as the documents would write it (`typed.py`),
and the trace says so. The statement does the selecting (`statement.sql`); here the question is
prepared for it and its rows are given their names. The trace holds every candidate of the pool with
what each branch thought of it and why it was kept or dropped, so an order can be explained and
replayed.
"""

from __future__ import annotations

import math
import uuid
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from time import perf_counter
from typing import Any

from ingestion.analyse import ANALYSER_VERSION, Root, analyse_question, question_pairs
from ingestion.indexes import space_of, still_serves
from ingestion.models import Index, serving_index
from ingestion.trust import check_trust
from retrieval import question as asked
from retrieval import underfills
from retrieval.answering import judge
from retrieval.errors import BadLimit, UnknownFusion
from retrieval.measured import Measured, measured
from retrieval.slips import put_right, slips_in
from retrieval.statement import Found, Settings, available, find, settings_of
from retrieval.typed import restore
from retrieval.vocabulary import Vocabulary
from tenants.models import Agent, Fusion

MOST_EVIDENCE = 50


@dataclass(frozen=True)
class Evidence:
    """A passage selected to support an answer. Scores are relative to this question's pool:
    they order, and say nothing about another question's. `similarity` is the raw cosine."""

    rank: int
    score: float
    semantic: float
    lexical: float
    similarity: float
    document: str
    uri: str
    heading: list[str]
    page: int | None
    text: str
    document_id: uuid.UUID
    passage_id: int


@dataclass(frozen=True)
class Retrieval:
    """Evidence in order, and the trace that explains it."""

    evidence: tuple[Evidence, ...]
    trace: dict[str, Any]

    @property
    def answers(self) -> bool | None:
        """Whether the evidence answers at all; None where that was not measured for the space."""
        answers: bool | None = self.trace["answering"]["answers"]
        return answers

    @property
    def timings_ms(self) -> dict[str, float]:
        return self.trace["timings_ms"]


def retrieve(
    agent: Agent, question: str, *, limit: int | None = None, fusion: str | None = None
) -> Retrieval:
    """The evidence for one question of one agent.

    Raises the refusals of `retrieval.errors`, `SpaceNotServed`, `SpaceMismatch` and
    `EmbedderUnavailable`.
    An agent without passages answers with no evidence.
    """
    clock = _Clock()
    question = asked.checked(question)
    index = serving_index(agent)
    known = measured(index.space) if index else Measured()
    settings = _settings(agent, known, limit, fusion)
    if index is None:
        return _nothing(agent, question, settings, clock)
    trust = check_trust(index)
    words, language = Vocabulary(index), agent.language
    slips = slips_in(question, words, language)
    meant = put_right(question, slips, language)
    roots = (*analyse_question(meant, language), *question_pairs(meant, language))
    spelled = restore(meant, words.spellings, language)
    clock.lap("analyse")
    vector, source = asked.embedded(space_of(index), spelled)
    clock.lap("embed")
    found = find(index, roots, vector, settings)
    if not found.rows and index.passages and not still_serves(index):
        return retrieve(agent, question, limit=limit, fusion=fusion)  # replaced meanwhile
    clock.lap("statement")
    trace = _trace(agent, question, settings, index, roots, found)
    underfills.count(agent, trace)
    trace |= {"trust": trust, "vector_from": source, "embedded": spelled}
    trace["slips"] = [asdict(slip) for slip in slips]
    evidence = tuple(_evidence(row) for row in sorted(_kept(found.rows), key=lambda row: row.rank))
    trace["answering"] = judge(known.answering, trace)
    clock.lap("trace")
    return Retrieval(evidence, trace | {"timings_ms": clock.laps})


def _settings(agent: Agent, known: Measured, limit: int | None, fusion: str | None) -> Settings:
    if limit is not None and not 1 <= limit <= MOST_EVIDENCE:
        raise BadLimit
    if fusion is not None and fusion not in Fusion.values:
        raise UnknownFusion(f"Choose one of {', '.join(Fusion.values)}.")
    return settings_of(agent, known, limit=limit, fusion=fusion)


def _kept(rows: Sequence[Any]) -> list[Any]:
    return [row for row in rows if row.rank is not None]


def _evidence(row: Any) -> Evidence:
    return Evidence(
        rank=row.rank,
        score=row.score,
        semantic=row.semantic,
        lexical=row.lexical,
        similarity=row.similarity,
        document=row.title,
        uri=row.uri,
        heading=row.heading,
        page=row.page,
        text=row.text,
        document_id=row.document_id,
        passage_id=row.passage_id,
    )


def _trace(
    agent: Agent,
    question: str,
    settings: Settings,
    index: Index,
    roots: Sequence[Root],
    found: Found,
) -> dict[str, Any]:
    rows, there_are = found.rows, available(index, settings)
    return {
        "question": question,
        "agent": str(agent),
        "space": str(space_of(index)),
        "analyser": ANALYSER_VERSION,
        "settings": asdict(settings),
        "route": found.route,
        "passages": index.passages,
        "pool": {
            "candidates": len(rows),
            "semantic": found.semantic,
            "lexical": sum(row.lexical_rank is not None for row in rows),
            "available": there_are,
            "underfilled": found.semantic < there_are,
        },
        "roots": _roots(roots, rows),
        "candidates": [_candidate(row) for row in rows],
    }


def _roots(roots: Sequence[Root], rows: Sequence[Any]) -> list[dict[str, Any]]:
    """Each root with its df and idf in the pool, and whether the lexical branch looked it up."""
    held = Counter(number for row in rows for number in _bits(row.roots))
    looked_up = _bits(rows[0].looked_up or 0) if rows else []
    return [
        {
            "root": root.surface,
            "weight": root.weight,
            "stemmed": list(root.stemmed),
            "plain": list(root.plain),
            "df": held[number],
            "idf": root.weight
            * math.log(1 + (len(rows) - held[number] + 0.5) / (held[number] + 0.5)),
            "looked_up": number in looked_up,
        }
        for number, root in enumerate(roots)
    ]


def _bits(roots: int) -> list[int]:
    """The numbers of the roots in a set, counted from 0."""
    return [number for number in range(roots.bit_length()) if roots >> number & 1]


def _candidate(row: Any) -> dict[str, Any]:
    return {
        "place": row.place,
        "passage": row.passage_id,
        "document": str(row.document_id),
        "uri": row.uri,
        "position": row.position,
        "semantic_rank": row.semantic_rank,
        "lexical_rank": row.lexical_rank,
        "similarity": row.similarity,
        "semantic": row.semantic,
        "lexical": row.lexical,
        "roots": _bits(row.roots),
        "score": row.score,
        "verdict": row.verdict,
        "rank": row.rank,
    }


def _nothing(agent: Agent, question: str, settings: Settings, clock: _Clock) -> Retrieval:
    """An agent that has never ingested anything."""
    trace: dict[str, Any] = {
        "question": question,
        "agent": str(agent),
        "space": None,
        "settings": asdict(settings),
        "route": "none",
        "passages": 0,
        "pool": {"candidates": 0, "available": 0, "underfilled": False},
        "roots": [],
        "candidates": [],
        "answering": {"answers": False},
        "timings_ms": clock.laps,
    }
    return Retrieval((), trace)


class _Clock:
    """Milliseconds a stage, in order."""

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self.laps[stage] = round((now - self._last) * 1000, 3)
        self._last = now
