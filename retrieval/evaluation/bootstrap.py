"""How sure a mean is: percentile bootstrap over questions, the same for the same numbers.

A difference is paired: both sides answered the same questions, so the questions are drawn once and
their differences averaged. When the 95% interval of the mean difference holds 0, it is a tie.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
SEED = 20
_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Paired:
    """`difference` is ours minus theirs; wins, losses and ties count questions."""

    difference: float
    low: float
    high: float
    wins: int
    losses: int
    ties: int

    @property
    def verdict(self) -> str:
        """win, loss, or tie when the interval holds 0."""
        return "win" if self.low > 0 else "loss" if self.high < 0 else "tie"

    def as_dict(self) -> dict[str, object]:
        return {
            "difference": self.difference,
            "ci95": [self.low, self.high],
            "wins": self.wins,
            "losses": self.losses,
            "ties": self.ties,
            "verdict": self.verdict,
        }


def interval(values: Sequence[float]) -> tuple[float, float]:
    """The 95% interval of the mean of `values`, shape (questions,); at least one."""
    low, high = np.percentile(_means(np.asarray(values, dtype=np.float64)), [2.5, 97.5])
    return float(low), float(high)


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Paired:
    """`ours` against `theirs`, question by question in the same order."""
    differences = np.asarray(ours, dtype=np.float64) - np.asarray(theirs, dtype=np.float64)
    low, high = interval(list(differences))
    wins, losses = int((differences > 0).sum()), int((differences < 0).sum())
    ties = len(differences) - wins - losses
    return Paired(float(differences.mean()), low, high, wins, losses, ties)


def _means(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of every resample, shape (RESAMPLES,)."""
    random = np.random.default_rng(SEED)
    size = len(values)
    at_once = max(1, _AT_ONCE // size)
    means = [
        values[random.integers(0, size, (min(at_once, RESAMPLES - start), size))].mean(axis=1)
        for start in range(0, RESAMPLES, at_once)
    ]
    return np.concatenate(means)
