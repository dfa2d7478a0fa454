"""Processor time of an operation, which unlike its wall time does not count waiting for a core.

The server's is that of this connection's backend, as Linux counts it in nanoseconds; it is known
only where the server runs beside us. Calls are counted in blocks, one block of each operation in
turn, and the median block stands.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import process_time

from django.db import connection

from retrieval.benchmark.measure import Operation

BLOCKS = 7
Costs = dict[str, dict[str, float | None]]


def processor_time(operations: Mapping[str, Operation], calls: int) -> Costs:
    """Milliseconds a call: `server` (None when it cannot be known) and `client`."""
    blocks: dict[str, list[tuple[float, float]]] = {name: [] for name in operations}
    for _ in range(BLOCKS):
        for name, operation in operations.items():
            blocks[name].append(_block(operation, calls))
    known = _backend() is not None
    return {
        name: {
            "server": _milliseconds([server for server, _ in taken], calls) if known else None,
            "client": _milliseconds([client for _, client in taken], calls),
        }
        for name, taken in blocks.items()
    }


def _block(operation: Operation, calls: int) -> tuple[float, float]:
    """Seconds of server and client."""
    server, client = _server_seconds(), process_time()
    for number in range(calls):
        operation(number)
    return _server_seconds() - server, process_time() - client


def _milliseconds(seconds: list[float], calls: int) -> float:
    return round(median(seconds) * 1000 / calls, 3)


def _server_seconds() -> float:
    path = _backend()
    return int(path.read_text().split()[0]) / 1e9 if path else 0.0


def _backend() -> Path | None:
    """Where Linux counts for the backend; a server reached by TCP may be on another machine."""
    connection.ensure_connection()
    info = connection.connection.info
    path = Path(f"/proc/{info.backend_pid}/schedstat")
    return path if info.host.startswith("/") and path.exists() else None
