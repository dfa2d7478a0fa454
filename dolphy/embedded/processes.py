"""Which processes are ours: those of a known name that work in our own data folder.

A process id in a file proves nothing: after a kill or a reboot it may belong to anybody. Both
services make their data folder their working folder, which no other service does.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

# The shell ends at once, so the server is nobody's child: no zombie, and no end with its starter.
DETACHED = 'log=$0; "$@" </dev/null >>"$log" 2>&1 & echo $!'


def find(pid_file: Path, name: str, folder: Path) -> psutil.Process | None:
    """The living process named in the first line of `pid_file`, if it is ours."""
    try:
        pid = int(pid_file.read_text().split("\n", 1)[0])
        process = psutil.Process(pid)
    except (OSError, ValueError, psutil.Error):
        return None
    return process if is_ours(process, name, folder) else None


def find_all(name: str, folder: Path) -> list[psutil.Process]:
    """Every living process of ours, with or without a file that names it."""
    return [process for process in psutil.process_iter() if is_ours(process, name, folder)]


def launch(
    command: Sequence[str | Path], log: Path, environment: Mapping[str, str], **identity: Any
) -> psutil.Process:
    """Start a server that outlives this process; what it says is appended to `log`.

    `identity` is `subprocess.run`'s user, group and extra_groups. Raises psutil.NoSuchProcess when
    it ended at once.
    """
    started = subprocess.run(  # noqa: S603
        ["/bin/sh", "-c", DETACHED, log, *command],
        check=True,
        stdout=subprocess.PIPE,
        env=environment,
        cwd="/",
        umask=0o077,
        start_new_session=True,  # Ctrl-C is for the command, not for its services
        **identity,
    )
    return psutil.Process(int(started.stdout))


def is_ours(process: psutil.Process, name: str, folder: Path) -> bool:
    try:
        return (
            name in process.name()
            and is_alive(process)
            and process.cwd().removesuffix(" (deleted)") == str(folder)
        )
    except psutil.Error:
        return False


def end(process: psutil.Process, signal: int, patience: float) -> None:
    """Ask with `signal`, wait `patience` seconds, then kill."""
    try:
        process.send_signal(signal)
    except psutil.NoSuchProcess:
        return
    if not _wait([process], patience):
        kill([process])


def kill(processes: list[psutil.Process]) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    _wait(processes, 10)


def _wait(processes: list[psutil.Process], patience: float) -> bool:
    """Whether all have ended. A zombie has: its parent may take its time to collect it."""
    deadline = time.monotonic() + patience
    while any(is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
