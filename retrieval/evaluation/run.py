"""Ask every question of a dataset through the production path, and keep what came of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from retrieval.evaluation import metrics
from retrieval.evaluation.dataset import Dataset, Question
from retrieval.evaluation.slices import AS_TYPED, SLICES
from retrieval.fates import NOT_IN_POOL, fates
from retrieval.retrieve import Retrieval, retrieve
from tenants.models import Agent

LIMIT = metrics.RECALL_DEPTH
SETTINGS_SHOWN = (
    "semantic_weight", "lexical_weight", "semantic_depth", "lexical_depth", "document_cap",
    "strongest_document_cap",
)  # fmt: skip
Keep = Callable[[dict[str, Any]], None]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Answer:
    """What one fusion made of one question; `ms` is the whole of `retrieve()`, embedding cached."""

    ranking: tuple[str, ...]
    metrics: dict[str, float]
    rank: int | None
    ms: float


@dataclass(frozen=True)
class Asked:
    """One question as it was asked. `fate` is what became of the document that answers it, under
    the default fusion: its verdict and the rank each branch gave it."""

    question: Question
    text: str
    answers: dict[str, Answer]
    fate: dict[str, Any]


@dataclass(frozen=True)
class Run:
    """One dataset in one slice. `changed` counts the questions that the slice spells otherwise."""

    dataset: str
    slice: str
    default: str
    asked: tuple[Asked, ...]
    skipped: int
    changed: int
    about: dict[str, Any] = field(default_factory=dict)

    @property
    def fusions(self) -> list[str]:
        return list(self.asked[0].answers)

    def values(self, fusion: str, metric: str) -> list[float]:
        """The metric of every question, in order."""
        return [item.answers[fusion].metrics[metric] for item in self.asked]


@dataclass(frozen=True)
class Asker:
    """How questions are asked: of whom, under which fusions (the default first), who is told."""

    agent: Agent
    fusions: Sequence[str]
    keep: Keep
    progress: Progress

    def typed(self, dataset: Dataset) -> Run:
        asked: list[Asked] = []
        about: dict[str, Any] = {}
        for number, question in enumerate(dataset.questions, 1):
            item, trace = self._ask(dataset.name, AS_TYPED, question, question.text)
            asked.append(item)
            about = about or self._about(trace)
            self.progress(number, len(dataset.questions))
        return Run(dataset.name, AS_TYPED, self.fusions[0], tuple(asked), dataset.skipped, 0, about)

    def sliced(self, typed: Run, name: str) -> Run:
        """The same questions in the spelling of a slice. One that it leaves as it was is not asked
        again: the same question has the same answer."""
        asked, changed = [], 0
        for number, item in enumerate(typed.asked, 1):
            text = SLICES[name](item.question.text, self.agent.language)
            if text == item.question.text:
                asked.append(item)
            else:
                changed += 1
                asked.append(self._ask(typed.dataset, name, item.question, text)[0])
            self.progress(number, len(typed.asked))
        return Run(
            typed.dataset, name, typed.default, tuple(asked), typed.skipped, changed, typed.about
        )

    def _ask(
        self, dataset: str, name: str, question: Question, text: str
    ) -> tuple[Asked, dict[str, Any]]:
        """The question under every fusion, and the default's trace."""
        found = {fusion: _timed(self.agent, text, fusion) for fusion in self._in_turn(text)}
        answers = {fusion: _answer(*found[fusion], question) for fusion in self.fusions}
        trace = found[self.fusions[0]][0].trace
        asked = Asked(question, text, answers, _fate(trace, question))
        self.keep(_line(dataset, name, asked, trace))
        return asked, trace

    def _in_turn(self, text: str) -> list[str]:
        """Each fusion goes first equally often: the first one meets caches that are cold."""
        first = len(text) % len(self.fusions)
        return [*self.fusions[first:], *self.fusions[:first]]

    def _about(self, trace: dict[str, Any]) -> dict[str, Any]:
        return {
            "language": self.agent.language,
            "passages": trace["passages"],
            "settings": {name: trace["settings"][name] for name in SETTINGS_SHOWN},
        }


def _timed(agent: Agent, text: str, fusion: str) -> tuple[Retrieval, float]:
    """The retrieval and its milliseconds with the question's vector cached, as for a question
    that was asked before: what the first embedding costs is the embedder's affair."""
    started = perf_counter()
    found = retrieve(agent, text, limit=LIMIT, fusion=fusion)
    if found.trace.get("vector_from") == "embedder":
        started = perf_counter()
        found = retrieve(agent, text, limit=LIMIT, fusion=fusion)
    return found, (perf_counter() - started) * 1000


def _answer(found: Retrieval, ms: float, question: Question) -> Answer:
    ranking = tuple(item.uri for item in found.evidence)
    rank = metrics.first_rank(ranking, question.relevant)
    return Answer(ranking, metrics.of_question(ranking, question.relevant), rank, ms)


def _fate(trace: dict[str, Any], question: Question) -> dict[str, Any]:
    """The fate of the best-placed passage that answers the question."""
    found = [fate for uri in question.relevant for fate in fates(trace, uri)]
    if not found:
        return {"verdict": NOT_IN_POOL, "semantic_rank": None, "lexical_rank": None}
    best = min(found, key=lambda fate: fate.place)
    return {
        "verdict": best.verdict,
        "semantic_rank": best.semantic_rank,
        "lexical_rank": best.lexical_rank,
    }


def _line(dataset: str, name: str, asked: Asked, trace: dict[str, Any]) -> dict[str, Any]:
    """One line of the traces file: the default's trace, and the order every fusion made."""
    return {
        "dataset": dataset,
        "slice": name,
        "query": asked.question.id,
        "asked": asked.text,
        "history": list(asked.question.history),
        "relevant": sorted(asked.question.relevant),
        "ranks": {fusion: answer.rank for fusion, answer in asked.answers.items()},
        "rankings": {fusion: list(answer.ranking) for fusion, answer in asked.answers.items()},
        "trace": trace,
    }
