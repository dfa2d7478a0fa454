"""Timing in turns: A B C, A B C, …, so that whatever the machine does meanwhile hits all alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from retrieval.evaluation.progress import Tell

WARM_UP = 5
Operation = Callable[[int], object]


@dataclass(frozen=True)
class Timing:
    """Milliseconds."""

    p50: float
    p95: float

    @classmethod
    def of(cls, seconds: list[float]) -> Timing:
        p50, p95 = np.percentile(np.array(seconds) * 1000, [50, 95])
        return cls(round(float(p50), 3), round(float(p95), 3))

    def as_dict(self) -> dict[str, float]:
        return {"p50": self.p50, "p95": self.p95}


def in_turns(
    operations: Mapping[str, Operation],
    rounds: int,
    tell: Tell,
    *,
    seldom: Mapping[str, int] | None = None,
) -> dict[str, Timing]:
    """Call every operation once a round with the round's number; a seldom one every n-th round."""
    every = seldom or {}
    seconds: dict[str, list[float]] = {name: [] for name in operations}
    for number in range(-WARM_UP, rounds):
        for name, operation in operations.items():
            if number % every.get(name, 1):
                continue
            taken = _seconds(operation, number)
            if number >= 0:
                seconds[name].append(taken)
        tell(max(0, number + 1), rounds)
    return {name: Timing.of(taken) for name, taken in seconds.items()}


def _seconds(operation: Operation, number: Any) -> float:
    start = perf_counter()
    operation(number)
    return perf_counter() - start
