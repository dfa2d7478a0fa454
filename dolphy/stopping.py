"""Stopping: a worker that is asked to end says so to the work in its hands.

Celery lets a task finish, however long it takes, and a signal to the whole group (Ctrl-C of `up`, a
terminal that closes) ends a process of the pool in the middle of it. So a process of the pool notes
the signal while it is at a task, and the worker's own process tells its pool through a byte that
they share. Long tasks ask between two steps, and hand back what is left.
"""

from __future__ import annotations

import mmap
import signal
from types import FrameType
from typing import Any

from billiard import current_process
from celery.signals import task_postrun, task_prerun, worker_init, worker_shutting_down


class _Asked:
    """`everyone` is one byte that the processes of a worker share, None where there is none."""

    everyone: mmap.mmap | None = None
    here = False
    usual: Any = None


def asked() -> bool:
    """Whether this worker is to end, so that long work should be handed back."""
    return _Asked.here or (_Asked.everyone is not None and _Asked.everyone[0] != 0)


@worker_init.connect
def share(**_: object) -> None:
    """Before the pool is forked."""
    _Asked.everyone, _Asked.here = mmap.mmap(-1, 1), False


@worker_shutting_down.connect
def tell(**_: object) -> None:
    if _Asked.everyone is not None:
        _Asked.everyone[0] = 1


@task_prerun.connect
def note_signals(**_: object) -> None:
    """In a process of the pool; the worker's own has Celery's handler, which tells us as well."""
    if current_process()._name != "MainProcess":
        _Asked.usual = signal.signal(signal.SIGTERM, _note)


@task_postrun.connect
def end_at_signals(**_: object) -> None:
    if _Asked.usual is not None:
        signal.signal(signal.SIGTERM, _Asked.usual)
    _Asked.usual, _Asked.here = None, False


def _note(number: int, frame: FrameType | None) -> None:
    _Asked.here = True
