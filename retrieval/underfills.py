"""Under-fills: searches whose semantic branch brought fewer passages than it should have.

A graph can end its scan early. The statement is then run again, exactly, so the search is right
and only slower; that is counted as `refilled`. `short` counts searches that stayed under-filled
even so, which means that the index counts its passages wrongly. The counts live in Valkey, by
agent; when it is away nothing is counted, and each trace still says what its own search met.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from redis.exceptions import RedisError

from dolphy.cache import valkey
from retrieval.statement import REFILLED
from tenants.models import Agent

KEPT_SECONDS = 30 * 86_400
_COUNTS = "retrieval:underfills"

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Underfills:
    """What one agent's searches have met in the last weeks."""

    agent: UUID
    refilled: int
    short: int


def count(agent: Agent, trace: Mapping[str, Any]) -> None:
    """Count this search if its branch was under-filled, before or after a second run."""
    if trace["pool"]["underfilled"]:
        _add(agent, "short")
    elif trace["route"] == REFILLED:
        _add(agent, "refilled")


def report() -> tuple[Underfills, ...]:
    """Every agent that has met one, the worst first. Raises `RedisError` when Valkey is away."""
    counts: dict[UUID, dict[str, int]] = {}
    for name, value in valkey().hgetall(_COUNTS).items():
        agent, _, kind = bytes(name).decode().partition(":")  # type: ignore[arg-type]
        counts.setdefault(UUID(agent), {})[kind] = int(value)
    found = (Underfills(a, c.get("refilled", 0), c.get("short", 0)) for a, c in counts.items())
    return tuple(sorted(found, key=lambda one: (-one.short, -one.refilled, one.agent)))


def _add(agent: Agent, kind: str) -> None:
    try:
        pipe = valkey().pipeline()
        pipe.hincrby(_COUNTS, f"{agent.pk}:{kind}", 1)
        pipe.expire(_COUNTS, KEPT_SECONDS)
        pipe.execute()
    except RedisError:
        logger.warning("An under-filled search of agent %s was not counted: no cache.", agent.pk)
