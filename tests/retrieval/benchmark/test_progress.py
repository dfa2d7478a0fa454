"""A long run says what it does where nobody watches, now and then."""

from __future__ import annotations

from typing import Any

from retrieval.benchmark import progress
from retrieval.benchmark.progress import told


def test_lines_come_at_intervals_and_at_the_end(capsys: Any, monkeypatch: Any) -> None:
    seconds = iter([0.0, 5.0, 16.0, 16.0, 20.0, 40.0, 40.0, 41.0])
    monkeypatch.setattr(progress, "monotonic", lambda: next(seconds))
    with told("loading") as tell:
        for done in (1_000, 2_000, 3_000, 4_000):
            tell(done, 4_000)
    assert capsys.readouterr().err.splitlines() == [
        "loading",
        "loading: 2,000 of 4,000, 16 s",
        "loading: 4,000 of 4,000, 40 s",
        "loading: 41.0 s",
    ]
