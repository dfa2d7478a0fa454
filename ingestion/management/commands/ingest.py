"""`manage.py ingest TENANT/AGENT PATH...`: files and folders into an agent's documents."""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.core.management import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dolphy.celery import workers_answer
from dolphy.errors import DolphyError
from dolphy.marks import spelt
from ingestion.follow import do_here, follow
from ingestion.models import IngestionJob
from ingestion.unpack import receive_any
from tenants.models import Agent
from tenants.scope import agent_named

WORKER_SECONDS = 1.0


class Command(BaseCommand):
    help = (
        "Upload files to an agent and wait until they are passages. The rest goes on if one fails."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", metavar="TENANT/AGENT")
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH")
        parser.add_argument(
            "--no-wait", action="store_true", help="queue the files and leave the rest to workers"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(file=self.stdout)  # type: ignore[arg-type]
        try:
            agent = agent_named(options["agent"])
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        jobs, refused = _receive(agent, files_in(options["paths"]))
        unchanged = {job.pk for job in jobs if job.is_finished}
        if not options["no_wait"]:
            jobs = _finished(jobs, console)
        failed = [job for job in jobs if job.state == IngestionJob.State.FAILED]
        console.print(_summary(jobs, unchanged))
        for name, refusal in refused:
            console.print(f"[red]{escape(name)}[/]: {refusal.code}: {escape(refusal.message)}")
        if refused or failed:
            raise CommandError(
                f"{len(refused) + len(failed)} of the files did not become passages."
            )


def files_in(paths: list[Path]) -> list[tuple[str, Path]]:
    """(address, file) for every file; inside a folder the address is the path from that folder."""
    found: list[tuple[str, Path]] = []
    for path in paths:
        if path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file() and not p.is_symlink())
            found += [(p.relative_to(path).as_posix(), p) for p in inside]
        elif path.is_file():
            found.append((path.name, path))
        else:
            raise CommandError(f"{path} is neither a file nor a folder.")
    return found


def _receive(
    agent: Agent, files: list[tuple[str, Path]]
) -> tuple[list[IngestionJob], list[tuple[str, DolphyError]]]:
    jobs: list[IngestionJob] = []
    refused: list[tuple[str, DolphyError]] = []
    for uri, path in files:
        try:
            found = receive_any(agent, name=path.name, data=path.read_bytes(), uri=uri)
        except DolphyError as error:
            refused.append((spelt(uri), error))
        else:
            jobs += found.jobs
            refused += found.refused
    return jobs, refused


def _finished(jobs: list[IngestionJob], console: Console) -> list[IngestionJob]:
    if all(job.is_finished for job in jobs):
        return jobs
    if workers_answer(WORKER_SECONDS):
        return follow(jobs, console)
    console.print("No worker answers, so the work is done here.")
    return do_here(jobs, console)


def _summary(jobs: list[IngestionJob], unchanged: set[UUID]) -> Table:
    table = Table("document", "state", "passages", "what", box=None, pad_edge=False)
    for job in jobs:
        job.document.refresh_from_db()
        said = f"{job.error_code}: {job.error}" if job.error else ""
        what = "unchanged" if job.pk in unchanged else said
        passages = str(job.document.passage_count)
        table.add_row(escape(job.document.uri), job.state, passages, escape(what))
    return table
