"""Processor seconds by part: the workers, PostgreSQL, the broker, the endpoint.

PostgreSQL's are those of the whole server, known only where it runs beside us. Differences of two
readings are what counts.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any

import psutil
from django.db import connection

from dolphy.cache import valkey


@dataclass(frozen=True)
class Reading:
    """Seconds since each process began, and on the clock. `machine` is all that all cores did."""

    clock: float
    machine: float
    postgresql: float | None
    valkey: float
    parts: dict[str, float]

    def since(self, before: Reading) -> dict[str, float | None]:
        """Seconds of each part, and `wall`."""
        known = self.postgresql is not None and before.postgresql is not None
        spent: dict[str, float | None] = {
            "wall": self.clock - before.clock,
            "machine": self.machine - before.machine,
            "postgresql": (self.postgresql or 0) - (before.postgresql or 0) if known else None,
            "valkey": self.valkey - before.valkey,
        }
        spent |= {name: used - before.parts[name] for name, used in self.parts.items()}
        return {name: None if used is None else round(used, 2) for name, used in spent.items()}


def read(**parts: int) -> Reading:
    """`parts`: process ids by name, each counted with its children."""
    times = psutil.cpu_times()
    idle = times.idle + getattr(times, "iowait", 0.0) + getattr(times, "steal", 0.0)
    used: Any = valkey().info("cpu")
    return Reading(
        clock=monotonic(),
        machine=sum(times[:8]) - idle,
        postgresql=_postgresql(),
        valkey=used["used_cpu_sys"] + used["used_cpu_user"],
        parts={name: _seconds(_family(pid)) for name, pid in parts.items()},
    )


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _postgresql() -> float | None:
    """Of the whole server, backends that have ended included: a worker's task opens its own."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    if not connection.connection.info.host.startswith("/"):
        return None
    server = psutil.Process(backend).parent()
    if server is None:
        return None
    ended = server.cpu_times()
    living = [server.pid, *(child.pid for child in server.children())]
    return _seconds(living) + ended.children_user + ended.children_system


def _family(pid: int) -> list[int]:
    try:
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    except psutil.NoSuchProcess:
        return []


def _seconds(pids: Iterable[int]) -> float:
    total = 0.0
    for pid in pids:
        try:
            times = psutil.Process(pid).cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total
