"""`manage.py doctor [--fix]`: is what is kept whole? Exit code 1 when something is not."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from django.core.management import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dolphy.errors import DolphyError
from ingestion.doctor import GRACE, Finding, examine


class Command(BaseCommand):
    help = "Look for what is orphaned, stale, missing or stuck; --fix repairs it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--fix", action="store_true", help="repair what can be repaired")
        parser.add_argument(
            "--grace",
            type=int,
            default=int(GRACE.total_seconds()),
            metavar="SECONDS",
            help="leave files alone that are younger; an upload may be bringing them just now",
        )

    def handle(self, *args: Any, fix: bool, grace: int, **options: Any) -> None:
        console = Console(file=self.stdout, width=120)  # type: ignore[arg-type]
        outcomes = [
            (found, repaired(found) if fix else None) for found in examine(timedelta(seconds=grace))
        ]
        if not outcomes:
            console.print("Nothing is wrong.")
            return
        console.print(_table(outcomes))
        left = sum(outcome is None for _, outcome in outcomes)
        if left:
            raise CommandError(f"{left} of {len(outcomes)} findings are left.", returncode=1)


def repaired(found: Finding) -> str | None:
    """What the repair did; None when there is none, or it failed."""
    try:
        return found.repair() if found.repair else None
    except DolphyError:
        return None


def _table(outcomes: Iterable[tuple[Finding, str | None]]) -> Table:
    table = Table("finding", "where", "what", "repair", box=None, pad_edge=False)
    for found, outcome in outcomes:
        by_hand = "" if found.repair else "by hand"
        table.add_row(found.code, escape(found.where), escape(found.what), outcome or by_hand)
    return table
