"""What serves: the embedder, the chat model, the queue with its jobs, the workers.

Each is asked with a short patience, for a page about what is broken must not hang on it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from time import perf_counter
from typing import Any

from django.conf import settings
from django.db.models import Count, Min, Q
from django.utils import timezone
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from dolphy import embedding
from dolphy.cache import valkey
from dolphy.celery import app
from dolphy.errors import DolphyError
from ingestion.errors import verdicts
from ingestion.models import IngestionJob
from retrieval import underfills

PATIENCE = 5.0  # seconds for the embedder
WORKERS_PATIENCE = 0.7  # seconds to gather answers: asking always takes as long
RECENT = timedelta(days=1)
ANSWERS, FAILS, SILENT = "answers", "fails", "no answer"
State = IngestionJob.State


def embedder() -> dict[str, Any]:
    """One tiny question through the configured embedder: its state, and how long it took."""
    space = embedding.configured().space
    start = perf_counter()
    state, code = _asked(lambda: embedding.configured().embed_question("health"))
    taken = round((perf_counter() - start) * 1000, 1)
    return {"space": str(space), "state": state, "error_code": code, "ms": taken}


def _asked(act: Callable[[], object]) -> tuple[str, str]:
    """(state, error code). An act that hangs is left to end in its own thread."""
    found: list[tuple[str, str]] = []

    def run() -> None:
        try:
            act()
            found.append((ANSWERS, ""))
        except DolphyError as error:
            found.append((FAILS, error.code))
        except Exception as error:
            found.append((FAILS, type(error).__name__))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    return found[0] if found else (SILENT, "timeout")


def chat_model() -> dict[str, Any]:
    """Named by the settings or not."""
    name = settings.CHAT_MODEL
    return {"model": name, "state": "configured" if name else "not configured"}


def queue() -> dict[str, Any]:
    """Messages that wait, by queue, and messages that a worker holds."""
    try:
        waiting = {name: valkey().llen(name) for name in sorted(app.amqp.queues)}
        return {"state": ANSWERS, "waiting": waiting, "at_work": valkey().hlen("unacked")}
    except RedisError:
        return {"state": SILENT, "waiting": {}, "at_work": 0}


def underfilled() -> dict[str, Any]:
    """Searches whose semantic branch came up short: run again exactly, or short even then."""
    try:
        found = underfills.report()
    except RedisError:
        return {"state": SILENT, "refilled": 0, "short": 0, "agents": 0}
    return {
        "state": "counted",
        "refilled": sum(one.refilled for one in found),
        "short": sum(one.short for one in found),
        "agents": len(found),
    }


def workers() -> list[str]:
    """The names of the workers that answer now."""
    try:
        answers = app.control.ping(timeout=WORKERS_PATIENCE)
    except (OperationalError, RedisError):
        return []
    return sorted(name for answer in answers for name in answer)


def jobs() -> dict[str, Any]:
    """Jobs that have not ended, the oldest one's age, dead ones, and what failed in a day.

    `refused_last_day` counts the verdicts about documents: a broken file is no fault of ours.
    """
    now = timezone.now()
    unfinished = IngestionJob.objects.filter(state__in=[State.QUEUED, State.RUNNING, State.PAUSED])
    found = unfinished.aggregate(
        queued=Count("pk", filter=Q(state=State.QUEUED)),
        running=Count("pk", filter=Q(state=State.RUNNING)),
        paused=Count("pk", filter=Q(state=State.PAUSED)),
        lease_ran_out=Count("pk", filter=Q(state=State.RUNNING, lease_until__lt=now)),
        held_up=Count("pk", filter=Q(state=State.QUEUED) & ~Q(error_code="")),
        oldest=Min("created_at"),
    )
    oldest = found.pop("oldest")
    ended = IngestionJob.objects.filter(state=State.FAILED, finished_at__gt=now - RECENT)
    verdict = Q(error_code__in=verdicts())
    failed = ended.aggregate(
        failed_last_day=Count("pk", filter=~verdict), refused_last_day=Count("pk", filter=verdict)
    )
    age = None if oldest is None else int((now - oldest).total_seconds())
    return found | {"oldest_age_s": age} | failed
