"""`manage.py ingest TENANT/AGENT PATH...`: files and folders into an agent's documents."""

from __future__ import annotations

import os
import stat
from argparse import ArgumentParser
from pathlib import Path
from typing import Any
from uuid import UUID

from django.conf import settings
from django.core.management import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dolphy.celery import workers_answer
from dolphy.errors import DolphyError
from dolphy.marks import spelt
from ingestion.errors import FileUnreadable
from ingestion.follow import do_here, follow
from ingestion.models import IngestionJob
from ingestion.unpack import receive_any
from tenants.models import Agent
from tenants.scope import agent_named

WORKER_SECONDS = 1.0
Named = tuple[str, Path]
Refused = tuple[str, DolphyError]


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
        jobs, refused = _receive(agent, *files_in(options["paths"]))
        unchanged = {job.pk for job in jobs if job.is_finished}
        if not options["no_wait"]:
            jobs = _finished(jobs, console)
        failed = [job for job in jobs if job.state == IngestionJob.State.FAILED]
        if jobs:
            console.print(_summary(jobs, unchanged))
        for name, refusal in refused:
            console.print(f"[red]{escape(name)}[/]: {refusal.code}: {escape(refusal.message)}")
        if not jobs and not refused:
            raise CommandError("There are no files in there.")
        if refused or failed:
            raise CommandError(
                f"{len(refused) + len(failed)} of the files did not become passages."
            )


def files_in(paths: list[Path]) -> tuple[list[Named], list[Refused]]:
    """(address, file) for every file, and what cannot be listed; inside a folder the address is the
    path from that folder. Raises `CommandError` when one of the paths itself cannot be read."""
    found: list[Named] = []
    refused: list[Refused] = []
    for path in paths:
        if _is_folder(path):
            _walk(path, found, refused)
        else:
            found.append((path.name, path))
    return found, refused


def _is_folder(path: Path) -> bool:
    """Whether it is one; whatever is neither folder nor file, or cannot be opened, ends here."""
    name = spelt(str(path))
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path.open("rb").close()
    except OSError as error:
        raise CommandError(f"{name} cannot be read: {error.strerror}.") from error
    if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
        raise CommandError(f"{name} is neither a file nor a folder.")
    return stat.S_ISDIR(mode)


def _walk(top: Path, found: list[Named], refused: list[Refused]) -> None:
    """The files of a folder in the order of their paths. Links are not followed: they may lead out
    of it."""

    def refuse(error: OSError) -> None:
        inside = os.path.relpath(error.filename, top)
        refused.append((spelt(inside), FileUnreadable(f"{error.strerror}.")))

    for folder, folders, names in os.walk(top, onerror=refuse):
        for name in [*folders, *names]:
            path = Path(folder, name)
            uri = path.relative_to(top).as_posix()
            if path.is_symlink():
                refused.append((spelt(uri), FileUnreadable("Links in folders are not followed.")))
            elif path.is_file():
                found.append((uri, path))
    found.sort()


def _receive(
    agent: Agent, files: list[Named], refused: list[Refused]
) -> tuple[list[IngestionJob], list[Refused]]:
    jobs: list[IngestionJob] = []
    refused = list(refused)
    for uri, path in files:
        try:
            found = receive_any(agent, name=path.name, data=_content(path), uri=uri, most=None)
        except DolphyError as error:
            refused.append((spelt(uri), error))
        else:
            jobs += found.jobs
            refused += found.refused
    return jobs, refused


def _content(path: Path) -> bytes:
    """As much of a file as is received, and a byte more when it is too large."""
    try:
        with path.open("rb") as file:
            return file.read(settings.MAX_UPLOAD_BYTES + 1)
    except OSError as error:
        raise FileUnreadable(f"{error.strerror}.") from error


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
