"""`manage.py probe [TENANT/AGENT]`: compare stored vectors with what the embedder makes now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError
from rich.console import Console
from rich.table import Table

from dolphy.errors import DolphyError
from ingestion.models import Index, IndexProbe, SpaceProbe, serving_index
from ingestion.probe import PER_AGENT, probe_index, probe_spaces, serving
from ingestion.trust import MISMATCH, trust_of
from tenants.scope import agent_named


class Command(BaseCommand):
    help = (
        "Embed stored passages again and compare. An agent whose vectors come from another model "
        "answers searches with the error space_mismatch until that is put right. Without an agent: "
        "every space and every agent."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", nargs="?", metavar="TENANT/AGENT")
        parser.add_argument(
            "--passages", type=int, default=PER_AGENT, help="how many of an agent (default 8)"
        )
        word = parser.add_mutually_exclusive_group()
        word.add_argument(
            "--ignore", action="store_true", help="let this agent answer whatever the probe says"
        )
        word.add_argument("--heed", action="store_true", help="take --ignore back")
        parser.add_argument("--json", action="store_true", help="print the figures as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        if options["passages"] < 1:
            raise CommandError("--passages must be at least 1.")
        indexes = self._indexes(options)
        spaces = [] if options["agent"] else probe_spaces()
        found = [(index, probe_index(index, options["passages"])) for index in indexes]
        if options["json"]:
            self.stdout.write(json.dumps(_figures(spaces, found), indent=2))
        else:
            console = Console(file=self.stdout)  # type: ignore[arg-type]
            console.print(_table(spaces, found))
            if options["ignore"] or options["heed"]:
                self.stdout.write(_confirmed(indexes[0]))
        refused = [index for index, _ in found if trust_of(index) == MISMATCH]
        if refused:
            raise CommandError(f"{len(refused)} of {len(found)} agents answer no searches.")

    def _indexes(self, options: dict[str, Any]) -> list[Index]:
        if not options["agent"]:
            if options["ignore"] or options["heed"]:
                raise CommandError("Name the agent; DOLPHY_IGNORE_PROBE=1 is for all of them.")
            return list(serving().select_related("agent__tenant"))
        try:
            index = serving_index(agent_named(options["agent"]))
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        if index is None:
            raise CommandError("The agent has no passages yet.")
        if options["ignore"] or options["heed"]:
            index.probe_ignored = options["ignore"]
            index.save(update_fields=["probe_ignored"])
        return [index]


def _confirmed(index: Index) -> str:
    if index.probe_ignored:
        return f"{index.agent} answers whatever the probe says, until --heed takes that back."
    return f"{index.agent} heeds the probe: after a mismatch it answers no searches."


def _figures(
    spaces: list[SpaceProbe], found: list[tuple[Index, IndexProbe]]
) -> dict[str, list[dict[str, Any]]]:
    return {
        "spaces": [{"space": str(probe.space), **_numbers(probe)} for probe in spaces],
        "agents": [
            {
                "agent": str(index.agent),
                "space": str(index.space),
                "trust": trust_of(index),
                "ignored": index.probe_ignored,
            }
            | _numbers(probe)
            for index, probe in found
        ],
    }


def _numbers(probe: SpaceProbe | IndexProbe) -> dict[str, Any]:
    names = ("compared", "changed", "below", "median", "lowest", "error_code")
    return {name: getattr(probe, name) for name in names}


def _table(spaces: list[SpaceProbe], found: list[tuple[Index, IndexProbe]]) -> Table:
    table = Table("agent", "median", "lowest", "compared", "changed", "verdict", box=None)
    for probe in spaces:
        table.add_row(f"all in {probe.space}", *_cells(probe), probe.error_code)
    for index, figures in found:
        verdict = figures.error_code or trust_of(index)
        table.add_row(str(index.agent), *_cells(figures), verdict)
    return table


def _cells(probe: SpaceProbe | IndexProbe) -> list[str]:
    cosines = ["" if value is None else f"{value:.4f}" for value in (probe.median, probe.lowest)]
    return [*cosines, str(probe.compared), str(probe.changed)]
