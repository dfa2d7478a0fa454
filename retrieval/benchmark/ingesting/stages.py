"""Processor and clock seconds of each stage of the jobs that this process does.

Files are read by another process, which is ended before and after, so that all it used, its start
too, is known by then: it belongs to parsing.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from unittest.mock import patch

from ingestion.models import IngestionJob
from ingestion.parsing import apart

BETWEEN = "between"  # claiming a job, committing it, and what follows its end


@dataclass
class Spent:
    """Seconds by stage, of the processor and of the clock."""

    cpu: dict[str, float] = field(default_factory=dict)
    wall: dict[str, float] = field(default_factory=dict)
    _stage: str = BETWEEN
    _cpu: float = 0.0
    _wall: float = 0.0

    def turn_to(self, stage: str) -> None:
        """What was spent until now belongs to the stage before."""
        cpu, wall = time.process_time(), time.perf_counter()
        self.cpu[self._stage] = self.cpu.get(self._stage, 0.0) + cpu - self._cpu
        self.wall[self._stage] = self.wall.get(self._stage, 0.0) + wall - self._wall
        self._stage, self._cpu, self._wall = stage, cpu, wall


@contextmanager
def stages_timed() -> Iterator[Spent]:
    """A job tells its row at which stage it is; the stopwatch listens."""
    apart.stop()
    read_before = _of_ended_children()
    spent = Spent(_cpu=time.process_time(), _wall=time.perf_counter())
    progress, succeed = IngestionJob.progress, IngestionJob.succeed

    def heard(job: IngestionJob, stage: str, done: int = 0, total: int = 0) -> bool:
        if stage != spent._stage:
            spent.turn_to(stage)
        return progress(job, stage, done, total)

    def ended(job: IngestionJob) -> bool:
        try:
            return succeed(job)
        finally:
            spent.turn_to(BETWEEN)

    with (
        patch.object(IngestionJob, "progress", heard),
        patch.object(IngestionJob, "succeed", ended),
    ):
        yield spent
        spent.turn_to(BETWEEN)
    apart.stop()
    parsing = str(IngestionJob.Stage.PARSING)
    spent.cpu[parsing] = spent.cpu.get(parsing, 0.0) + _of_ended_children() - read_before


def _of_ended_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
