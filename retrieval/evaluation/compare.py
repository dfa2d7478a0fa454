"""Compare two evaluations question by question: what moved, what was lost, what was won."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from retrieval.evaluation.bootstrap import Paired, paired
from retrieval.evaluation.errors import BadFigures
from retrieval.evaluation.metrics import reciprocal_rank

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Change:
    """One question whose rank is another: None means that the answer is not in the evidence."""

    query: str
    question: str
    before: int | None
    after: int | None

    @property
    def what(self) -> str:
        if self.after is None:
            return f"lost, was {self.before}"
        if self.before is None:
            return f"won, is {self.after}"
        way = "up" if self.after < self.before else "down"
        return f"moved {way} from {self.before} to {self.after}"


@dataclass(frozen=True)
class Comparison:
    """One dataset, slice and fusion in both; `paired` is B minus A in MRR@10. `apart` counts the
    questions that only one of the two asked, or asked in other words."""

    dataset: str
    slice: str
    fusion: str
    questions: int
    apart: int
    paired: Paired
    changes: tuple[Change, ...]


def compare(before: Figures, after: Figures) -> list[Comparison]:
    """What both hold, in the order of `before`. Raises `BadFigures` when they share nothing."""
    runs = {(run["dataset"], run["slice"]): run for run in after["runs"]}
    found = [
        comparison
        for run in before["runs"]
        if (other := runs.get((run["dataset"], run["slice"])))
        for comparison in _compared(run, other)
    ]
    if not found:
        raise BadFigures("The two share no question of the same dataset, slice and fusion.")
    return found


def circumstances(before: Figures, after: Figures) -> Iterator[str]:
    """What was otherwise in the two: space, analyser, and each dataset's language and settings."""
    for name in ("space", "analyser"):
        if before.get(name) != after.get(name):
            yield f"{name}: {before.get(name)} before, {after.get(name)} after"
    theirs, ours = ({run["dataset"]: _about(run) for run in of["runs"]} for of in (before, after))
    for dataset in (name for name in theirs if name in ours):
        old, new = theirs[dataset], ours[dataset]
        for name in (name for name in {**old, **new} if old.get(name) != new.get(name)):
            yield f"{dataset}, {name}: {old.get(name)} before, {new.get(name)} after"


def _about(run: Figures) -> dict[str, Any]:
    return {"language": run.get("language"), **run.get("settings", {})}


def _compared(before: Figures, after: Figures) -> Iterator[Comparison]:
    ours, theirs = after["results"], before["results"]
    shared = [
        key for key in theirs if key in ours and ours[key]["question"] == theirs[key]["question"]
    ]
    apart = len(set(ours) | set(theirs)) - len(shared)
    for fusion in before["fusions"] if shared else ():
        if fusion in after["fusions"]:
            pairs = [
                (theirs[key]["ranks"].get(fusion), ours[key]["ranks"].get(fusion)) for key in shared
            ]
            difference = paired(
                [reciprocal_rank(new) for _, new in pairs],
                [reciprocal_rank(old) for old, _ in pairs],
            )
            changes = [
                Change(key, theirs[key]["question"], old, new)
                for key, (old, new) in zip(shared, pairs, strict=True)
                if old != new
            ]
            changes.sort(key=_gain)
            yield Comparison(
                before["dataset"],
                before["slice"],
                fusion,
                len(shared),
                apart,
                difference,
                tuple(changes),
            )


def _gain(change: Change) -> float:
    """The greatest loss first, the greatest win last."""
    return _worth(change.after) - _worth(change.before)


def _worth(rank: int | None) -> float:
    return 1 / rank if rank else 0.0
