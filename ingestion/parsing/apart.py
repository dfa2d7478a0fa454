"""Parse apart: in a process of its own, which may hang, burst or die and takes nobody with it.

Files are read by libraries written in C. One that hangs there answers to no exception, keeps the
whole process from running Python, its heartbeat too, and no limit that is looked at between pages
helps. So a worker reads no file itself: it hands the bytes to a process that it starts with the
first file and keeps, waits for the answer and kills it when the time is over. That process knows no
settings and no passwords. It is replaced when it has grown, and when it died.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

from . import wire
from .blocks import ParsedDocument
from .errors import ParserDied, ParseTimeout
from .limits import MEGABYTE, Limits
from .progress import Progress, silent

MODULE = "ingestion.parsing.process"
GROWN = 300 * MEGABYTE  # a process that ever held so much is replaced, so that it is given back
TICK = 1.0  # seconds after which progress is told again, so that who cancelled is heard
TRIES = 2  # a process may die of something else than the file
AT_ONCE = 65_536
CHECKOUT = Path(__file__).parents[2]
PASSED_ON = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "PYTHONPATH", "LD_LIBRARY_PATH",
             "TESSDATA_PREFIX", "OMP_THREAD_LIMIT")  # fmt: skip


class Died(Exception):
    """The process ended without an answer."""


def parse(
    data: bytes,
    name: str = "",
    *,
    media_type: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    progress: Progress = silent,
) -> ParsedDocument:
    """As `ingestion.parsing.parse`, and raises `ParseTimeout` and `ParserDied` beside.

    `progress` is called here, with the pages last told of at least once in `TICK` seconds; what it
    raises ends the reading.
    """
    request = wire.request(data, name, media_type, limits)
    with _one_at_a_time:
        for _ in range(TRIES):
            try:
                return wire.outcome(_ask(request, limits.killed_after, progress))
            except Died as error:
                why = str(error)
        raise ParserDied(why)


def stop() -> None:
    """End the process that reads; the next file starts another."""
    global _process
    if _process is not None:
        _process.end()
        _process = None


def _ask(request: bytes, seconds: float, progress: Progress) -> wire.Message:
    global _process
    if _process is None:
        _process = Process()
    try:
        answer = _process.ask(request, time.monotonic() + seconds, progress)
    except BaseException:
        stop()
        raise
    if answer["memory"] > GROWN:
        stop()
    return answer


class Process:
    """A running process that reads; `ask` may be called again after each answer."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - a module of ours, no shell
            [sys.executable, "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            bufsize=0,
            process_group=0,  # so that what it starts for OCR ends with it
            cwd=CHECKOUT,
            env={name: os.environ[name] for name in PASSED_ON if name in os.environ},
        )
        self._to, self._from = (pipe.fileno() for pipe in self._pipes())
        os.set_blocking(self._to, False)
        self._received = bytearray()

    def ask(self, request: bytes, deadline: float, progress: Progress) -> wire.Message:
        """The answer. Raises `ParseTimeout`, `Died`, or what `progress` does; it is then to be
        ended."""
        left = memoryview(request)
        pages = (0, 0)
        while True:
            ready = self._wait(deadline, writing=bool(left))
            if self._to in ready and left:
                left = left[self._write(left) :]
            if self._from in ready:
                self._read()
            for message in wire.unframed(self._received):
                if "pages" not in message:
                    return message
                pages = (message["pages"][0], message["pages"][1])
                progress(*pages)
            if not ready:
                progress(*pages)

    def end(self) -> None:
        with suppress(ProcessLookupError):  # it died before, and nobody of its group is left
            os.killpg(self._child.pid, signal.SIGKILL)
        self._child.wait()
        self.forget()

    def forget(self) -> None:
        """Let go of our ends of its pipes."""
        for pipe in self._pipes():
            pipe.close()

    def _pipes(self) -> list[IO[bytes]]:
        """Its input and its output."""
        return [pipe for pipe in (self._child.stdin, self._child.stdout) if pipe]

    def _wait(self, deadline: float, *, writing: bool) -> set[int]:
        """Which of the pipes can be used, within a tick."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise ParseTimeout
        poll = select.poll()
        poll.register(self._from, select.POLLIN)
        if writing:
            poll.register(self._to, select.POLLOUT)
        return {file for file, _ in poll.poll(1000 * min(TICK, left))}

    def _write(self, data: memoryview) -> int:
        try:
            return os.write(self._to, data[:AT_ONCE])
        except BrokenPipeError as error:
            raise Died(self._how()) from error

    def _read(self) -> None:
        data = os.read(self._from, AT_ONCE)
        if not data:
            raise Died(self._how())
        self._received += data

    def _how(self) -> str:
        """How the process ended."""
        try:
            code = self._child.wait(timeout=TICK)
        except subprocess.TimeoutExpired:
            return "It closed its pipe."
        return f"({signal.Signals(-code).name})" if code < 0 else f"(exit code {code})"


_one_at_a_time = threading.Lock()
_process: Process | None = None


def _after_fork() -> None:
    """The process belongs to the one that was forked; this one starts its own."""
    global _process, _one_at_a_time
    _one_at_a_time = threading.Lock()
    if _process is not None:
        _process.forget()
        _process = None


os.register_at_fork(after_in_child=_after_fork)
