"""Health for machines: `/healthz` says that the process lives, `/readyz` that it can serve.

Readiness asks each part that a request needs, one by one, so that the answer names what is missing.
The reasons stay in the log: these pages answer to anybody.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import redis
from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.http import HttpRequest, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

logger = logging.getLogger(__name__)

PATIENCE = 2.0  # seconds for the broker to answer


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
    found: dict[str, str] = {}
    for check in CHECKS:
        try:
            check()
        except _Missing as error:
            found[check.__name__] = str(error)
        except Exception:
            logger.warning("%s does not answer", check.__name__, exc_info=True)
            found[check.__name__] = "does not answer"
    return found


@never_cache
@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    return JsonResponse({"alive": True})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    found = missing()
    return JsonResponse({"ready": not found, "missing": found}, status=503 if found else 200)
