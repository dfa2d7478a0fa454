"""What the operator says through environment variables, read in one place.

Every variable is optional on a laptop; in production (`DOLPHY_ENV=production`) the settings refuse
to start without what makes them safe. The names are documented in `docs/operators.md`.
"""

from __future__ import annotations

import os
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from psycopg import ProgrammingError
from psycopg.conninfo import conninfo_to_dict

TRUE = {"1", "true", "yes", "on"}
FALSE = {"", "0", "false", "no", "off"}

# Read by PostgreSQL when the connection opens, so that no search pays a round trip for them. Only
# what a search runs is prepared: planning the retrieval statement anew adds half of what it takes
# to run, so one plan serves all agents, and it must not scan the whole table because one agent is
# most of it.
SESSION = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "hnsw.ef_search": "120",
    "hnsw.iterative_scan": "relaxed_order",
    "hnsw.max_scan_tuples": "200000",
    "jit": "off",
    "timezone": "UTC",
}


def text(name: str, default: str = "") -> str:
    """An empty variable counts as none: that is how a compose file passes on what is not set."""
    return os.environ.get(name, "").strip() or default


def flag(name: str, default: bool = False) -> bool:
    value = os.environ.get(name, str(default)).strip().lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} is {value!r}: say true or false.")
    return value in TRUE


def number(name: str, default: int) -> int:
    value = text(name, str(default))
    try:
        number = int(value)
    except ValueError:
        number = -1
    if number < 0:
        raise ImproperlyConfigured(f"{name} is {value!r}: say a whole number, 0 or more.")
    return number


def fraction(name: str, default: float) -> float:
    value = text(name, str(default))
    try:
        number = float(value)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise ImproperlyConfigured(f"{name} is {value!r}: say a number from 0 to 1.")
    return number


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def database(url: str, *, pooled: bool) -> dict[str, Any]:
    """Django's DATABASES entry for a PostgreSQL URL or conninfo string."""
    try:
        parts = conninfo_to_dict(url)
    except ProgrammingError as error:
        raise ImproperlyConfigured(f"DATABASE_URL cannot be read: {error}") from None
    options: dict[str, Any] = {
        key: value
        for key, value in parts.items()
        if key not in {"dbname", "user", "password", "host", "port", "options"}
    }
    session = " ".join(f"-c {name}={value}" for name, value in SESSION.items())
    options["options"] = f"{parts.get('options', '')} {session}".strip()
    options.setdefault("connect_timeout", 10)
    options["prepare_threshold"] = 5  # else psycopg never prepares, even where it is asked to
    if pooled:
        options["pool"] = {"min_size": 1, "max_size": 16, "timeout": 10}
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": parts.get("dbname") or "dolphy",
        "USER": parts.get("user") or "",
        "PASSWORD": parts.get("password") or "",
        "HOST": parts.get("host") or "",
        "PORT": str(parts.get("port") or ""),
        "OPTIONS": options,
        "CONN_MAX_AGE": 0 if pooled else None,
        "CONN_HEALTH_CHECKS": True,
    }
