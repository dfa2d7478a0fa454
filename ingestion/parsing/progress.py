"""How far the reading of one file is, in pages: those that are done of those that there are.

A page is done when nothing of it is left to read. A scanned page is done only after its text was
recognised or it is left out, so the count is true of files in which that takes most of the time.
"""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[int, int], None]  # (pages done, pages in all); what it raises ends the reading


def silent(done: int, total: int) -> None:
    """Nobody wants to know."""


class Pages:
    """Counts the pages of one file, and tells."""

    def __init__(self, total: int, tell: Progress) -> None:
        self._done, self._total, self._tell = 0, total, tell
        tell(0, total)

    def more(self, pages: int = 1) -> None:
        if pages:
            self._done += pages
            self._tell(self._done, self._total)
