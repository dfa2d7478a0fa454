"""Health for machines: `/healthz` says that the process lives, `/readyz` that it can serve.

Readiness asks each part that a request needs by itself, so that the answer names what is missing.
They are asked at once and none is waited for beyond `PATIENCE`: whoever asks gives up soon, and a
part that hangs must not keep the others from being told. The reasons stay in the log: these pages
answer to anybody.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from time import monotonic

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds for all parts together


SILENT = "does not answer"


class _Missing(Exception):
    """What a check found missing, fit to be shown to anybody."""


def database() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def migrations() -> None:
    executor = MigrationExecutor(connection)
    plan = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if plan:
        names = ", ".join(f"{one.app_label}.{one.name}" for one, _ in plan)
        raise _Missing(f"not applied: {names}")


def broker() -> None:
    with redis.Redis.from_url(
        settings.REDIS_URL, socket_timeout=PATIENCE, socket_connect_timeout=PATIENCE
    ) as client:
        client.ping()


CHECKS: tuple[Callable[[], None], ...] = (database, migrations, broker)


def missing() -> dict[str, str]:
    """What keeps this process from serving, by name of the part; empty when it is ready."""
    found: dict[str, str] = {check.__name__: SILENT for check in CHECKS}
    threads = [threading.Thread(target=_ask, args=(one, found), daemon=True) for one in CHECKS]
    until = monotonic() + PATIENCE
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, until - monotonic()))
    return {name: said for name, said in found.copy().items() if said}


def _ask(check: Callable[[], None], found: dict[str, str]) -> None:
    """Write down what a check says. A thread has a connection of its own, which ends with it."""
    try:
        check()
        found[check.__name__] = ""
    except _Missing as error:
        found[check.__name__] = str(error)
    except Exception:
        logger.warning("%s does not answer", check.__name__, exc_info=True)
    finally:
        connection.close()


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"alive": True})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    found = missing()
    return JsonResponse({"ready": not found, "missing": found}, status=503 if found else 200)
