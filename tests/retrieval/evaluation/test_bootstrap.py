"""Intervals are right, and the same for the same numbers."""

from __future__ import annotations

import numpy as np
import pytest

from retrieval.evaluation import bootstrap
from retrieval.evaluation.bootstrap import interval, paired


def test_an_interval_is_the_same_each_time() -> None:
    values = list(np.random.default_rng(1).random(100))
    assert interval(values) == interval(values)


def test_an_interval_is_that_of_the_normal_distribution_for_many_questions() -> None:
    values = np.random.default_rng(2).random(900)
    spread = 1.96 * values.std() / 30
    low, high = interval(list(values))
    assert low == pytest.approx(values.mean() - spread, abs=0.15 * spread)
    assert high == pytest.approx(values.mean() + spread, abs=0.15 * spread)


def test_equal_values_leave_no_room() -> None:
    assert interval([0.5] * 10) == (0.5, 0.5)


def test_resamples_drawn_in_parts_are_as_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bootstrap, "_AT_ONCE", 70)
    assert len(bootstrap._means(np.arange(10.0))) == bootstrap.RESAMPLES


def test_wins_losses_and_ties_count_questions() -> None:
    found = paired([1.0, 0.5, 0.2, 0.3], [0.5, 1.0, 0.2, 0.1])
    assert (found.wins, found.losses, found.ties) == (2, 1, 1)
    assert found.difference == pytest.approx(0.05)


def test_a_difference_is_a_tie_when_its_interval_holds_zero() -> None:
    chance = np.random.default_rng(3)
    ours, theirs = chance.random(50), chance.random(50)
    assert paired(list(ours), list(theirs)).verdict == "tie"
    assert paired([0.4] * 9, [0.4] * 9).verdict == "tie"


def test_a_difference_that_excludes_zero_is_a_win_or_a_loss() -> None:
    base = np.random.default_rng(4).random(60)
    assert paired(list(base + 0.1), list(base)).verdict == "win"
    assert paired(list(base), list(base + 0.1)).verdict == "loss"
