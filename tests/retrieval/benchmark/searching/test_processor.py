"""Processor time: blocks in turns, their median, and no server's where none can be known."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from retrieval.benchmark.searching import processor
from retrieval.benchmark.searching.processor import BLOCKS, processor_time


class Clock:
    """Seconds that operations spend."""

    def __init__(self) -> None:
        self.server = self.client = 0.0

    def spend(self, server: float, client: float) -> None:
        self.server += server
        self.client += client


@pytest.fixture
def clock(monkeypatch: Any) -> Clock:
    clock = Clock()
    monkeypatch.setattr(processor, "process_time", lambda: clock.client)
    monkeypatch.setattr(processor, "_server_seconds", lambda: clock.server)
    monkeypatch.setattr(processor, "_backend", lambda: Path("/proc/1/schedstat"))
    return clock


def test_milliseconds_a_call_are_the_median_blocks(clock: Clock) -> None:
    called: list[tuple[str, int]] = []

    def cheap(number: int) -> None:
        called.append(("cheap", number))
        slow = len(called) <= 3  # the first block, say of a cold cache
        clock.spend(0.5 if slow else 0.002, 0.001)

    def dear(number: int) -> None:
        called.append(("dear", number))
        clock.spend(0.010, 0.004)

    spent = processor_time({"cheap": cheap, "dear": dear}, 3)
    assert spent == {
        "cheap": {"server": 2.0, "client": 1.0},
        "dear": {"server": 10.0, "client": 4.0},
    }
    block = [("cheap", n) for n in range(3)] + [("dear", n) for n in range(3)]
    assert called == block * BLOCKS


def test_a_server_elsewhere_is_not_guessed_at(clock: Clock, monkeypatch: Any) -> None:
    monkeypatch.setattr(processor, "_backend", lambda: None)
    spent = processor_time({"one": lambda number: clock.spend(0.0, 0.001)}, 2)
    assert spent == {"one": {"server": None, "client": 1.0}}


@pytest.mark.django_db
def test_a_backend_beside_us_is_read_where_the_kernel_counts_for_it() -> None:
    path = processor._backend()
    if path is None:
        pytest.skip("The server is not beside us, or the kernel does not count.")
    before = processor._server_seconds()
    with connection.cursor() as cursor:
        cursor.execute("SELECT sum(n) FROM generate_series(1, 100000) AS n")
    assert processor._server_seconds() > before > 0
