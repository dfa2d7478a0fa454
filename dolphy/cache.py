"""The connection to Valkey that this process keeps for its cache."""

from __future__ import annotations

from functools import lru_cache

import redis
from django.conf import settings


@lru_cache(maxsize=1)
def valkey() -> redis.Redis:
    """Bytes in, bytes out; short timeouts, for a cache must never cost more than it saves."""
    return redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=0.5, socket_connect_timeout=0.5, max_connections=64
    )
