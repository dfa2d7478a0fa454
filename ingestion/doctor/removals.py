"""Removals that nobody finishes: documents that are gone for everybody, and still kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from uuid import UUID

from django.db.models import Count
from django.utils import timezone

from ingestion.doctor.finding import Finding
from ingestion.removal import purge, waiting


def unfinished(grace: timedelta) -> Iterator[Finding]:
    """Removed documents that were not purged within the grace, by agent."""
    overdue = waiting().filter(removed_at__lte=timezone.now() - grace)
    agents = overdue.values_list("agent").annotate(count=Count("pk")).order_by("agent")
    for agent, count in agents:
        what = f"{count} removed documents are still kept, with their passages and files."
        yield Finding("removal_unfinished", f"agent {agent}", what, _purge(agent))


def _purge(agent: UUID) -> Callable[[], str]:
    def repair() -> str:
        before = waiting().filter(agent=agent).count()
        while waiting().filter(agent=agent).exists() and purge():
            pass
        return f"{before} purged"

    return repair
