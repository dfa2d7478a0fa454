"""What the doctor finds: one thing that is wrong, and how it is put right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Finding:
    """`code` is stable; `where` names what it is about; `repair` does it and says what it did.

    None for `repair` means that only a person can put it right.
    """

    code: str
    where: str
    what: str
    repair: Callable[[], str] | None = field(default=None, compare=False)
