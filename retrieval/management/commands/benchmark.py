"""`manage.py benchmark`: what searches and ingestion cost here, beside their bare parts."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, call_command
from rich.console import Console

from retrieval.benchmark.run import run
from retrieval.benchmark.show import notes, tables
from retrieval.benchmark.size import Size

WIDTH = 140


class Command(BaseCommand):
    help = "Measure searches and ingestion in a scratch tenant, as ratios to their bare parts."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--passages", type=int, default=10_000, help="rows of the table")
        parser.add_argument(
            "--agents", type=int, default=0, help="agents that share them; 0: enough small ones"
        )
        parser.add_argument("--rounds", type=int, default=120, help="how often each is timed")
        parser.add_argument("--documents", type=int, default=3, help="how many are ingested")
        parser.add_argument("--json", metavar="FILE", help="write the figures; - prints them alone")

    def handle(self, *args: Any, **options: Any) -> None:
        size = _size(options)
        call_command("migrate", verbosity=0, interactive=False)
        try:
            found = run(size)
        except KeyboardInterrupt:
            raise CommandError("Stopped; the scratch tenant is removed.", returncode=130) from None
        written = json.dumps(found, indent=2)
        if options["json"] == "-":
            self.stdout.write(written)
            return
        width = None if self.stdout.isatty() else WIDTH
        console = Console(file=self.stdout, width=width)  # type: ignore[arg-type]
        for note in notes(found):
            console.print(note, markup=False, highlight=False)
        for table in tables(found):
            console.print(table)
        if options["json"]:
            Path(options["json"]).write_text(written + "\n")


def _size(options: dict[str, Any]) -> Size:
    names = ("passages", "agents", "rounds", "documents")
    least = {"passages": 100, "agents": 0, "rounds": 1, "documents": 1}
    if any(options[name] < least[name] for name in names):
        raise CommandError(", ".join(f"--{name} is at least {n}" for name, n in least.items()))
    return Size(**{name: options[name] for name in names})
