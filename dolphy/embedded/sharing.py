"""Who uses the services of a state folder, told by file locks, which die with their holder.

Every user holds a shared lock on `users`; starting and stopping happen under an exclusive lock on
`turn`. Whoever gets `users` exclusively knows to be the last and stops the services. No counter
and no list of process ids: a killed user's lock is gone with it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


class Lock:
    """A lock on a file, held by this process alone: forked children give up their share of it."""

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        os.register_at_fork(after_in_child=self.close)

    def share(self) -> None:
        fcntl.flock(self._open, fcntl.LOCK_SH)

    def take(self) -> None:
        """Wait until it is ours alone."""
        fcntl.flock(self._open, fcntl.LOCK_EX)

    def try_take(self) -> bool:
        """Whether it is ours alone now. A shared lock held before may be lost when it is not."""
        try:
            fcntl.flock(self._open, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        fcntl.flock(self._open, fcntl.LOCK_UN)

    def close(self) -> None:
        if self._descriptor is not None:
            with suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    @property
    def _open(self) -> int:
        if self._descriptor is None:
            raise ValueError("this lock is closed")
        return self._descriptor


@contextmanager
def turn(folder: Path) -> Iterator[None]:
    """The right to start or stop the services of `folder`."""
    lock = Lock(folder / "turn")
    lock.take()
    try:
        yield
    finally:
        lock.close()
