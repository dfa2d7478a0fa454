"""How much one file may cost before it is refused.

The defaults fit real business files with room to spare: what exceeds them is a mistake or an
attack. Sizes are counted after unpacking; time is looked at between pages, sheets and members.
Where files are read apart (`apart.py`), memory is bounded by the kernel, and a reader that never
comes to look at the time is killed.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from .errors import TooComplex

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Limits:
    """Bounds for one file. Bytes are unpacked bytes; `max_ratio` is unpacked over packed.

    `max_memory` is address space, that of the program and its libraries (200 MB) included.
    `killed_after` leaves a PDF its `seconds` twice, for its text and for its scanned pages.
    """

    max_pages: int = 5_000
    max_characters: int = 20_000_000
    max_cells: int = 2_000_000
    max_columns: int = 500
    max_archive_members: int = 5_000
    max_archive_bytes: int = 400 * MEGABYTE
    max_member_bytes: int = 100 * MEGABYTE
    max_ratio: int = 200
    max_line: int = 1_000_000
    seconds: float = 300.0
    ocr: bool = True
    max_ocr_pages: int = 200
    ocr_page_seconds: float = 60.0
    killed_after: float = 720.0
    max_memory: int = 1536 * MEGABYTE


class Deadline:
    """The moment at which reading one file must have ended."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def passed(self) -> bool:
        return time.monotonic() > self._end

    def check(self) -> None:
        """Raise TooComplex when the time is over."""
        if self.passed:
            raise TooComplex(f"Reading it took longer than {self._seconds:.0f} seconds.")
