"""An agent that is measured, and what it is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dolphy.embedding import Vectors
from ingestion.analyse import Root, analyse_question, question_pairs
from ingestion.models import Index, serving_index
from retrieval.benchmark.loading import own_index
from retrieval.benchmark.loading.invent import Inventor
from retrieval.benchmark.loading.own_index import OwnIndex
from retrieval.measured import measured
from retrieval.statement import Settings, settings_of
from tenants.models import Agent

QUESTIONS = 60


@dataclass(frozen=True)
class Question:
    text: str
    roots: tuple[Root, ...]
    vector: Vectors


@dataclass(frozen=True)
class Subject:
    """The agent, its index and the yardstick beside it, ordinary questions and ones of common
    words."""

    agent: Agent
    index: Index
    own_index: OwnIndex
    questions: Sequence[Question]
    common: Sequence[Question]

    @cached_property
    def settings(self) -> Settings:
        return settings_of(self.agent, measured(self.index.space))


def subject(agent: Agent, vectors: Vectors, inventor: Inventor) -> Subject:
    """`vectors`: some of the agent's own, near which its questions lie."""
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
        own_index.make(agent.tenant, index),
        asked(inventor.question, near[:QUESTIONS]),
        asked(inventor.common_question, near[QUESTIONS:]),
    )
