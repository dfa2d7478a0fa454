"""`manage.py reembed TENANT/AGENT`: move an agent to another embedding space or analyser."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.management import BaseCommand, CommandError
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from dolphy import embedding
from dolphy.errors import DolphyError
from ingestion.indexes import space_of
from ingestion.models import serving_index
from ingestion.reembed import NothingToReembed, Outcome, reembed
from tenants.models import Agent
from tenants.scope import agent_named


class Command(BaseCommand):
    help = (
        "Build an agent's index anew beside the one that serves, then let it take over. Searches "
        "are answered by the old one until then. Run it again after a stop: it goes on."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", metavar="TENANT/AGENT")
        target = parser.add_mutually_exclusive_group()
        target.add_argument(
            "--space", metavar="PROVIDER/MODEL/DIMENSIONS", help="default: the configured one"
        )
        target.add_argument(
            "--analyser",
            action="store_true",
            help="stay in the agent's space, write the lexemes by the running analyser",
        )
        parser.add_argument(
            "--again", action="store_true", help="embed anew what is in that space already"
        )
        parser.add_argument(
            "--restart", action="store_true", help="throw away what a stopped run has built"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(file=self.stdout)  # type: ignore[arg-type]
        try:
            agent = agent_named(options["agent"])
            embedder = _embedder(agent, options)
            outcome = _followed(agent, embedder, options, console)
        except NothingToReembed as error:
            console.print(error.message)
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped. What is built is kept: run it again to go on.") from None
        else:
            _tell(outcome, console)


def _embedder(agent: Agent, options: dict[str, Any]) -> embedding.Embedder:
    """The served embedder whose space is meant. Raises `SpaceNotServed`."""
    index = serving_index(agent)
    if options["analyser"] and index is not None:
        return embedding.of(space_of(index))
    name = options["space"]
    if not name:
        return embedding.configured()
    served = list(embedding.served())
    for embedder in served:
        if name == str(embedder.space):
            return embedder
    known = ", ".join(str(embedder.space) for embedder in served)
    raise embedding.SpaceNotServed(f"{name} was asked for; this installation serves {known}.")


def _followed(
    agent: Agent, embedder: embedding.Embedder, options: dict[str, Any], console: Console
) -> Outcome:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        passages = bar.add_task("passages", total=None)
        return reembed(
            agent,
            embedder,
            again=options["again"],
            restart=options["restart"],
            progress=lambda done, total: bar.update(passages, completed=done, total=total),
        )


def _tell(outcome: Outcome, console: Console) -> None:
    index, done = outcome.index, outcome.done
    console.print(
        f"{index.agent} is served by {index} in {index.space}: {index.passages} passages, "
        f"{done.embedded} texts embedded, {done.copied} vectors copied"
        + (f", {outcome.resumed} passages kept from before." if outcome.resumed else ".")
    )
    if done.too_long:
        console.print(
            f"[yellow]{len(done.too_long)} passages are longer than this model reads[/], the "
            f"first is {done.too_long[0]}. Upload their documents again to have them cut anew."
        )
