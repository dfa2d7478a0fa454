"""The process that reads files for another: `python -m ingestion.parsing.process`.

It reads one request after another from its input and answers each on its output, until the input
ends. What it may take is set by the kernel: memory by a limit, time by an alarm that needs nobody's
help, should the one who waits for it be gone; on Linux it ends with that one anyway.
"""

from __future__ import annotations

import ctypes
import logging
import os
import resource
import signal
import sys
from pathlib import Path
from typing import BinaryIO

from . import wire
from .errors import ParsingError, TooComplex
from .limits import MEGABYTE, Limits
from .parse import parse

GRACE = 60  # seconds after which nobody can be waiting any more
PR_SET_PDEATHSIG = 1
logger = logging.getLogger(__name__)


def main() -> None:
    _end_with_parent()
    questions, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints is no answer
    while (how := _frame(questions)) is not None:
        data = _frame(questions)
        if data is None:
            return
        _send(answers, _answer(answers, how, data))


def _answer(answers: BinaryIO, how: bytes, data: bytes) -> wire.Message:
    """The outcome, with the most memory that was ever used, in bytes."""
    name, media_type, limits = wire.how(how)
    _bound(limits)
    try:
        document = parse(
            data,
            name,
            media_type=media_type,
            limits=limits,
            progress=lambda done, total: _send(answers, wire.pages(done, total)),
        )
        found = wire.parsed(document)
    except MemoryError:
        megabytes = limits.max_memory // MEGABYTE
        found = wire.refused(TooComplex(f"Reading it takes more than {megabytes:,} MB of memory."))
    except ParsingError as error:
        found = wire.refused(error)
    except Exception as error:
        logger.exception("%s could not be read", name)
        found = wire.failed(error)
    finally:
        signal.alarm(0)
    return {**found, "memory": _most_memory()}


def _bound(limits: Limits) -> None:
    signal.alarm(int(limits.killed_after) + GRACE)
    if sys.platform == "linux":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        wanted = (
            limits.max_memory if most == resource.RLIM_INFINITY else min(limits.max_memory, most)
        )
        resource.setrlimit(resource.RLIMIT_AS, (wanted, most))


def _most_memory() -> int:
    """What this process held at its largest, in bytes."""
    if sys.platform == "linux":  # where the usual figure is that of the process which started it
        status = Path("/proc/self/status").read_text()
        return 1024 * int(status.partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _end_with_parent() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):  # meant for the worker, who ends this process
        signal.signal(number, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _frame(file: BinaryIO) -> bytes | None:
    """The next frame; None at the end."""
    head = file.read(wire.LENGTH.size)
    if len(head) < wire.LENGTH.size:
        return None
    (length,) = wire.LENGTH.unpack(head)
    body = file.read(length)
    return body if len(body) == length else None


def _send(file: BinaryIO, message: wire.Message) -> None:
    file.write(wire.framed(message))
    file.flush()


if __name__ == "__main__":
    main()
