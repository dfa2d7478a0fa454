"""Answerability: does `answers` tell questions that the documents answer from those they do not?

Every question is asked through the production path twice: as it is, and with the documents that
answer it disabled, by the act an admin has for it, in a transaction that is rolled back. The second
is the hard case: neighbours of the same topic stay. Questions of other datasets are the easy one.

The first asking leaves the question's vector in the cache, so nothing is embedded inside that
transaction. A score is the rule's (`retrieval/answering.py`): the raw cosine plus the weighted
coverage, or the cosine alone in a space without a measured rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
from django.db import transaction

from dolphy import embedding
from ingestion.analyse import ANALYSER_VERSION
from ingestion.documents import set_enabled
from ingestion.models import Document, serving_index
from retrieval.evaluation.dataset import Dataset, Question
from retrieval.evaluation.scratch import language_of
from retrieval.measured import Answering, measured
from retrieval.retrieve import retrieve
from tenants.models import Agent

FOREIGN = 300
ANSWERED = 0.95
STEP = 0.01
AROUND = range(-4, 6)
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Judged:
    """What one retrieval's trace says of its first evidence; None where there was no evidence."""

    cosine: float | None
    coverage: float | None
    answers: bool | None


@dataclass(frozen=True)
class Asked:
    """One question as it is, and without the documents that answer it."""

    question: Question
    present: Judged
    removed: Judged


@dataclass(frozen=True)
class Tradeoff:
    """Shares from one threshold on: `removed` and `foreign` are refused; None without questions."""

    threshold: float
    answered: float
    removed: float
    foreign: float | None


@dataclass(frozen=True)
class Trial:
    """One dataset, asked. `rule` is the one in force, None in a space without a measured one."""

    dataset: str
    about: dict[str, Any]
    rule: Answering | None
    asked: tuple[Asked, ...]
    foreign: tuple[Judged, ...] = field(default=())

    @property
    def scores(self) -> tuple[list[float], list[float], list[float]]:
        """Of the questions as they are, without their documents, and of foreign ones."""
        sides = ([a.present for a in self.asked], [a.removed for a in self.asked], self.foreign)
        present, removed, foreign = ([score(self.rule, j) for j in side] for side in sides)
        return present, removed, foreign

    @property
    def suggested(self) -> float:
        """The threshold that answers `ANSWERED` of the questions as they are."""
        return threshold_for(self.scores[0], ANSWERED)

    def at(self, threshold: float) -> Tradeoff:
        present, removed, foreign = self.scores
        return Tradeoff(
            threshold,
            share_from(present, threshold),
            1 - share_from(removed, threshold),
            1 - share_from(foreign, threshold) if foreign else None,
        )

    def thresholds(self) -> list[float]:
        """Around the one in force, or else around the suggested one, rounded; ascending."""
        middle = self.rule.threshold if self.rule else round(self.suggested / STEP) * STEP
        return [round(middle + step * STEP, 4) for step in AROUND]

    def areas(self, measure: Callable[[Judged], float] | None = None) -> dict[str, float | None]:
        """Area under the curve, against removed and foreign; by the score, or by `measure`."""
        by = measure or (lambda judged: score(self.rule, judged))
        present = [by(item.present) for item in self.asked]
        removed = [by(item.removed) for item in self.asked]
        foreign = [by(judged) for judged in self.foreign]
        return {
            "removed": area(present, removed),
            "foreign": area(present, foreign) if foreign else None,
        }


def score(rule: Answering | None, judged: Judged) -> float:
    """Below every threshold without evidence."""
    if judged.cosine is None:
        return float("-inf")
    return rule.score(judged.cosine, judged.coverage or 0.0) if rule else judged.cosine


def cosine(judged: Judged) -> float:
    return score(None, judged)


def coverage(judged: Judged) -> float:
    return judged.coverage or 0.0


def area(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Area under the ROC curve: how often one drawn from `positive` is above one drawn from
    `negative`, a tie counting half (Mann and Whitney). Neither may be empty."""
    ordered = np.sort(np.asarray(negative))
    below = np.searchsorted(ordered, positive, "left")
    not_above = np.searchsorted(ordered, positive, "right")
    return float((below + not_above).sum() / (2 * len(positive) * len(negative)))


def share_from(scores: Sequence[float], threshold: float) -> float:
    """The share of scores at or above the threshold: what the rule answers."""
    return sum(score >= threshold for score in scores) / len(scores)


def threshold_for(scores: Sequence[float], share: float) -> float:
    """The highest threshold that answers at least this share of the scores."""
    return sorted(scores)[int((1 - share) * len(scores) + 1e-9)]


def foreign_to(dataset: Dataset, others: Sequence[Dataset]) -> list[Question]:
    """Questions of other datasets, of the same language where there are such: at most `FOREIGN`,
    taken evenly, so that every other dataset has its part."""
    language = language_of(dataset)
    strangers = [other for other in others if other.name != dataset.name]
    alike = [other for other in strangers if language_of(other) == language] or strangers
    questions = [question for other in alike for question in other.questions]
    every = max(1, len(questions) / FOREIGN)
    return [questions[int(n * every)] for n in range(min(FOREIGN, len(questions)))]


def tried(agent: Agent, dataset: Dataset, foreign: Sequence[Question], progress: Progress) -> Trial:
    """Ask them all. Raises what `retrieve` raises; the agent is left as it was, however it ends."""
    total = len(dataset.questions) + len(foreign)
    asked, strangers = [], []
    for number, question in enumerate(dataset.questions, 1):
        asked.append(_asked(agent, question))
        progress(number, total)
    for number, question in enumerate(foreign, len(asked) + 1):
        strangers.append(_judged(agent, question.text))
        progress(number, total)
    index = serving_index(agent)
    about = {"language": agent.language, "passages": index.passages if index else 0}
    rule = measured(index.space).answering if index else None
    return Trial(dataset.name, about, rule, tuple(asked), tuple(strangers))


def _asked(agent: Agent, question: Question) -> Asked:
    present = _judged(agent, question.text)
    with without(agent, question.relevant):
        return Asked(question, present, _judged(agent, question.text))


@contextmanager
def without(agent: Agent, uris: frozenset[str]) -> Iterator[None]:
    """The agent with these documents disabled; nothing of it outlasts the block."""
    found = Document.objects.filter(tenant=agent.tenant_id, agent=agent, uri__in=uris)
    with transaction.atomic():
        try:
            for document in found.order_by("pk"):
                set_enabled(document, False)
            yield
        finally:
            transaction.set_rollback(True)


def _judged(agent: Agent, question: str) -> Judged:
    found = retrieve(agent, question).trace["answering"]
    return Judged(found.get("cosine"), found.get("coverage"), found["answers"])


def figures(trials: Sequence[Trial]) -> dict[str, Any]:
    """`{"answerability": [...]}` with when and in which space it was measured."""
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "space": str(embedding.configured().space),
        "analyser": ANALYSER_VERSION,
        "answerability": [_figures(trial) for trial in trials],
    }


def _figures(trial: Trial) -> dict[str, Any]:
    rule = trial.rule
    return {
        "dataset": trial.dataset,
        **trial.about,
        "questions": len(trial.asked),
        "foreign": len(trial.foreign),
        "rule": vars(rule) if rule else None,
        "auc": trial.areas(),
        "auc_cosine": trial.areas(cosine),
        "auc_coverage": trial.areas(coverage),
        "suggested": vars(trial.at(trial.suggested)),
        "thresholds": [
            vars(trial.at(one)) | {"in_force": bool(rule and one == rule.threshold)}
            for one in trial.thresholds()
        ],
        "results": {
            item.question.id: {
                "question": item.question.text,
                "present": vars(item.present),
                "removed": vars(item.removed),
            }
            for item in trial.asked
        },
        "foreign_results": [vars(judged) for judged in trial.foreign],
    }
