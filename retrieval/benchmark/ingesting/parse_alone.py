"""One file is parsed in a process of its own, which tells what that took.

The peak is this process's own: `ru_maxrss` would count what the parent held when it forked.

    python -m retrieval.benchmark.ingesting.parse_alone FILE
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path

import django


def peak_mb() -> float:
    """Of this process since it began its program."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


def main(name: str) -> None:
    django.setup()
    from ingestion.parsing import parse

    path = Path(name)
    data = path.read_bytes()
    before, start, cpu = peak_mb(), time.perf_counter(), time.process_time()
    parsed = parse(data, path.name)
    report = parsed.report.as_dict()
    told = {
        "file_mb": round(len(data) / 1e6, 2),
        "pages": report.get("pages"),
        "characters": sum(len(block.all_text()) for block in parsed.blocks),
        "seconds": round(time.perf_counter() - start, 2),
        "cpu_seconds": round(time.process_time() - cpu, 2),
        "before_mb": round(before, 1),
        "peak_mb": round(peak_mb(), 1),
    }
    sys.stdout.write(json.dumps(told) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
