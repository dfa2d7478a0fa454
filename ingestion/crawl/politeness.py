"""One request at a time to a server, with its pause in between, whoever crawls it.

The pause is a key in Valkey that lives as long as the pause: who sets it may ask, everybody else
waits for it to vanish, other workers and other tenants too. A server in trouble gets a longer one.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from redis.exceptions import RedisError

from dolphy.cache import valkey
from ingestion.errors import BrokerUnavailable

LONGEST_REST = 300.0


def turn(host: str, delay: float) -> float:
    """0 when the caller may ask the server now, else the seconds until it is worth asking again.

    Raises `BrokerUnavailable`: without the shared pause no server is asked at all.
    """
    try:
        if delay > 0:
            mine = valkey().set(_key(host), b"1", nx=True, px=max(1, int(delay * 1000)))
            left = 0 if mine else _left(host)
        else:
            left = _left(host)
    except RedisError as error:
        raise BrokerUnavailable from error
    return left / 1000


def rest(host: str, seconds: float) -> None:
    """Nobody asks this server for a while."""
    wanted = int(min(LONGEST_REST, seconds) * 1000)
    try:
        if wanted > _left(host):
            valkey().set(_key(host), b"rest", px=wanted)
    except RedisError as error:
        raise BrokerUnavailable from error


def wait_for_turn(
    host: str, delay: float, patience: float, sleep: Callable[[float], None] = time.sleep
) -> float:
    """Wait up to `patience` seconds; 0 when the turn came, else what is still to wait."""
    end = time.monotonic() + patience
    while wait := turn(host, delay):
        if time.monotonic() + wait > end:
            return wait
        sleep(max(0.001, wait))
    return 0.0


def _left(host: str) -> int:
    return max(0, int(valkey().pttl(_key(host))))


def _key(host: str) -> str:
    return f"crawl:pause:{host}"
