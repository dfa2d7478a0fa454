"""Which processes are ours: those of a known name that work in our own data folder.

A process id in a file proves nothing: after a kill or a reboot it may belong to anybody. Both
services make their data folder their working folder, which no other service does.
"""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import psutil


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


def is_ours(process: psutil.Process, name: str, folder: Path) -> bool:
    try:
        return (
            name in process.name()
            and _is_alive(process)
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
    while any(_is_alive(process) for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def _is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
