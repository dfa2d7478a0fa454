"""`manage.py search TENANT/AGENT "question"`: the evidence, and why."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError
from rich.markup import escape

from dolphy.errors import DolphyError
from retrieval.retrieve import Retrieval, retrieve
from retrieval.serializers import answered, as_json
from retrieval.show import candidates_table, evidence_table, judgement, reading, terminal
from retrieval.traces import record
from tenants.models import Fusion
from tenants.scope import agent_named


class Command(BaseCommand):
    help = "Ask an agent a question and show the evidence."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", metavar="TENANT/AGENT")
        parser.add_argument("question")
        parser.add_argument("--limit", type=int, help="how many passages at most")
        parser.add_argument("--fusion", help=", ".join(Fusion.values))
        parser.add_argument("--explain", action="store_true", help="show the whole pool")
        parser.add_argument("--json", action="store_true", help="print JSON, as the API answers")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            agent = agent_named(options["agent"])
            found = retrieve(
                agent, options["question"], limit=options["limit"], fusion=options["fusion"]
            )
            trace = record(agent, found)
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        if options["json"]:
            self.stdout.write(as_json(answered(found, trace, explain=options["explain"])))
            return
        self._show(found, str(trace.pk), explain=options["explain"])

    def _show(self, found: Retrieval, trace: str, *, explain: bool) -> None:
        console = terminal(self.stdout)
        if not found.evidence:
            console.print("No evidence: this agent has no documents that answer questions yet.")
            return
        console.print(evidence_table(found))
        if found.answers is False:
            console.print("[yellow]The documents do not seem to answer this question.[/]")
        for line in reading(found.trace):
            console.print(f"[dim]{escape(line)}[/]")
        if explain:
            console.print(f"[dim]answers? {judgement(found.trace)}[/]")
            console.print(candidates_table(found.trace))
        laps = " · ".join(f"{name} {value:.1f} ms" for name, value in found.timings_ms.items())
        console.print(f"[dim]{laps} · trace {trace}[/]")
