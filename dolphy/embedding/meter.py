"""What embedding costs: requests and tokens, counted while a block runs.

    with metered() as use:
        embedder.embed_passages(texts)
    use.requests, use.tokens

Whoever calls the embedder knows on whose behalf, so the account is the caller's; an embedder only
says what it used. One inside this process costs nothing and says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass


@dataclass
class Use:
    """Requests sent (tries that failed are paid for in limits as well) and tokens billed."""

    requests: int = 0
    tokens: int = 0


_current: ContextVar[Use | None] = ContextVar("embedding_use", default=None)


@contextmanager
def metered() -> Iterator[Use]:
    """Count what this thread's embedding uses until the block ends."""
    use = Use()
    before = _current.set(use)
    try:
        yield use
    finally:
        _current.reset(before)


def count(*, requests: int = 0, tokens: int = 0) -> None:
    """Add to the innermost block, if anybody counts."""
    if (use := _current.get()) is not None:
        use.requests += requests
        use.tokens += tokens
