"""`manage.py benchmark`: what searches and ingestion cost here, beside their bare parts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, call_command
from rich.console import Console

from retrieval.benchmark.ingesting.measured import Amount
from retrieval.benchmark.run import run
from retrieval.benchmark.show import notes, tables
from retrieval.benchmark.size import Size

WIDTH = 160
LEAST = {"passages": 100, "agents": 0, "rounds": 1, "documents": 1, "pages": 30}


class Command(BaseCommand):
    help = "Measure searches and ingestion in a scratch tenant, as ratios to their bare parts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--passages", type=int, default=10_000, help="rows of the table")
        parser.add_argument("--agents", type=int, default=0, help="in it; 0: as many as it takes")
        parser.add_argument("--rounds", type=int, default=120, help="how often each is timed")
        parser.add_argument("--documents", type=int, default=3, help="how many are ingested")
        parser.add_argument(
            "--ingestion", action="store_true", help="workers, a website and a long PDF as well"
        )
        parser.add_argument("--pages", type=int, default=1_000, help="of that website")
        parser.add_argument("--site", type=Path, help="a folder of pages, instead of invented ones")
        parser.add_argument("--json", metavar="FILE", help="write the figures; - prints them alone")

    def handle(self, *args: Any, **options: Any) -> None:
        size, amount = _size(options), _amount(options)
        call_command("migrate", verbosity=0, interactive=False)
        try:
            found = run(size, amount)
        except KeyboardInterrupt:
            raise CommandError("Stopped; the scratch tenant is removed.", returncode=130) from None
        written = json.dumps(found, indent=2)
        if options["json"] == "-":
            self.stdout.write(written)
            return
        if options["json"]:
            Path(options["json"]).write_text(written + "\n")
        width = None if self.stdout.isatty() else WIDTH
        console = Console(file=self.stdout, width=width)  # type: ignore[arg-type]
        for note in notes(found):
            console.print(note, markup=False, highlight=False)
        for table in tables(found):
            console.print(table)


def _size(options: dict[str, Any]) -> Size:
    if any(options[name] < least for name, least in LEAST.items()):
        least = ", ".join(f"--{name} is at least {n:,}" for name, n in LEAST.items())
        raise CommandError(f"{least}.")
    return Size(**{name: options[name] for name in ("passages", "agents", "rounds", "documents")})


def _amount(options: dict[str, Any]) -> Amount | None:
    if options["site"] and not options["site"].is_dir():
        raise CommandError(f"{options['site']} is no folder.")
    if not options["ingestion"]:
        return None
    return Amount(pages=options["pages"], site=options["site"])
