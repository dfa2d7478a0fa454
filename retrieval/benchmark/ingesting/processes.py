"""Processes of the benchmark's own, which end with the block, and with us if we are killed."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dolphy.embedded.places import CHECKOUT

PR_SET_PDEATHSIG = 1
SECONDS_TO_END = 30
Process = subprocess.Popen[bytes]


@contextmanager
def started(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    log: Path | None = None,
    patience: float = SECONDS_TO_END,
) -> Iterator[Process]:
    """A child. What it says goes into `log`; else its output can be read, its errors are ours.

    At the end it is asked to go, and after `patience` seconds killed with all its children.
    """
    sink: Any = log.open("ab") if log else None
    process = subprocess.Popen(  # noqa: S603 (our own commands)
        command,
        env=dict(environment),
        cwd=CHECKOUT,
        stdin=subprocess.DEVNULL,
        stdout=sink or subprocess.PIPE,
        stderr=sink,
        start_new_session=True,  # Ctrl-C is for the command, which ends them in order
        preexec_fn=_end_with_parent,
    )
    try:
        yield process
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(patience)
        with suppress(ProcessLookupError):  # it left nobody behind
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if sink:
            sink.close()


@contextmanager
def serving(
    module: str, *arguments: object, environment: Mapping[str, str]
) -> Iterator[tuple[int, Process]]:
    """A module that prints the port it listens on; the port and its process."""
    with started(python(module, *arguments), environment) as process:
        line = process.stdout.readline() if process.stdout else b""
        if not line.strip().isdigit():
            raise RuntimeError(f"{module} did not start.")
        yield int(line), process


def python(module: str, *arguments: object) -> list[str]:
    return [sys.executable, "-m", module, *map(str, arguments)]


def _end_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
