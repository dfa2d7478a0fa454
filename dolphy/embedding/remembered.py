"""Question vectors that Valkey remembers, by space and text: their names, and how to forget them.

A space whose model turned out to be another one has vectors of both in its memory; they are all
forgotten whenever the verdict on that space changes.
"""

from __future__ import annotations

import hashlib
import logging

from redis.exceptions import RedisError

from dolphy.cache import valkey
from dolphy.embedding.space import Space

logger = logging.getLogger(__name__)


def name_of(space: Space, text: str) -> str:
    return f"question:{_mark(space)}:{hashlib.sha256(text.encode()).hexdigest()}"


def forget_questions(space: Space) -> None:
    """Drop every remembered question vector of this space."""
    try:
        names = list(valkey().scan_iter(match=f"question:{_mark(space)}:*", count=1000))
        for start in range(0, len(names), 1000):
            valkey().unlink(*names[start : start + 1000])
    except RedisError:  # without Valkey nothing is read from it either, until it is back
        logger.warning("Could not forget the question vectors of %s", space, exc_info=True)


def _mark(space: Space) -> str:
    """The space as text without a character that a pattern could mean."""
    return hashlib.sha256(str(space).encode()).hexdigest()[:16]
