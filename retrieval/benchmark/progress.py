"""What a long run is doing, on standard error: a bar for a person, lines for a log file."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

from retrieval.evaluation.progress import Tell, bar

SECONDS_BETWEEN_LINES = 15.0


@contextmanager
def told(what: str) -> Iterator[Tell]:
    """Is told (done, total). Where nobody watches, a line now and then and one at the end."""
    if sys.stderr.isatty():
        with bar(what) as tell:
            yield tell
        return
    start = last = monotonic()
    _line(what)

    def tell_lines(done: int, total: int) -> None:
        nonlocal last
        if monotonic() - last >= SECONDS_BETWEEN_LINES:
            last = monotonic()
            _line(f"{what}: {done:,} of {total:,}, {last - start:.0f} s")

    yield tell_lines
    _line(f"{what}: {monotonic() - start:.1f} s")


def _line(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()
