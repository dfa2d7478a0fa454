"""`make demo`: documents in, evidence out, on the embedded defaults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, call_command
from rich.console import Console

from dolphy import embedding
from dolphy.celery import workers_answer
from ingestion.follow import follow
from ingestion.models import IngestionJob
from ingestion.receive import receive
from retrieval import demo
from retrieval.retrieve import retrieve
from retrieval.show import evidence_table, terminal
from tenants.models import Agent

WORKER_SECONDS = 60
ROWS = 3


class Command(BaseCommand):
    help = "Ingest the demo documents through a Celery worker, ask questions, show the evidence."

    def handle(self, *args: Any, **options: Any) -> None:
        console = terminal(sys.stdout)
        console.rule("Dolphy demo")
        embedding.configured()  # warm what loads lazily, before anything is timed
        call_command("migrate", verbosity=0, interactive=False)
        _, agents = demo.make_tenant()
        with worker(console):
            self._ingest(agents, console)
        answered = sum(self._ask(agents, item, console) for item in demo.questions())
        total = len(demo.questions())
        console.rule(f"{answered} of {total} questions are answered by their first passage")
        console.print(NEXT)
        if answered < total:
            raise CommandError(f"{total - answered} questions are not answered by their first row.")

    def _ingest(self, agents: dict[str, Agent], console: Console) -> None:
        console.print("\nIngesting the help centre of an invented shop, in Turkish and in English.")
        jobs = [
            receive(agent, name=path.name, data=path.read_bytes())
            for language, agent in agents.items()
            for path in demo.documents(language)
        ]
        ended = follow(jobs, console)
        failed = [job for job in ended if job.state != IngestionJob.State.SUCCEEDED]
        for job in failed:
            console.print(f"[red]{job.name}[/]: {job.error_code}: {job.error}")
        if failed:
            raise CommandError(f"{len(failed)} documents did not become passages.")
        passages = sum(job.document.passage_count for job in ended)
        console.print(f"{len(ended)} documents are {passages} passages.\n")

    def _ask(self, agents: dict[str, Agent], item: demo.DemoQuestion, console: Console) -> bool:
        found = retrieve(agents[item.agent], item.question)
        console.print(f"[bold]{item.question}[/]  [dim]({demo.TENANT}/{item.agent})[/]")
        console.print(evidence_table(found, rows=ROWS))
        first = found.evidence[0]
        answers = first.uri == item.document and item.answer in " ".join(first.text.split())
        mark = "[green]✓[/]" if answers else "[red]✗[/]"
        took = sum(found.timings_ms.values())
        console.print(f"{mark} expected in {item.document}: “{item.answer}” · {took:.0f} ms\n")
        return answers


@contextmanager
def worker(console: Console) -> Iterator[None]:
    """A Celery worker of our own for as long as it is needed."""
    command = [sys.executable, "-m", "celery", "-A", "dolphy", "worker"]
    log = settings.HOME / "demo-worker.log"
    with log.open("ab") as output:
        process = subprocess.Popen(  # noqa: S603 (our own interpreter, fixed words)
            [*command, "--without-gossip", "--without-mingle"],
            cwd=settings.BASE_DIR,
            stdout=output,
            stderr=output,
            env=os.environ | {"LOG_LEVEL": "INFO"},
        )
        try:
            with console.status("Starting a Celery worker"):
                _wait_for(process)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait_for(process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + WORKER_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise CommandError(f"The worker ended at once; see {settings.HOME}/demo-worker.log.")
        if workers_answer(0.5):
            return
    raise CommandError(f"The worker did not answer; see {settings.HOME}/demo-worker.log.")


NEXT = f"""
[bold]Try next[/]
  make up                                    web, worker and beat at http://127.0.0.1:8000
  .venv/bin/python manage.py search {demo.TENANT}/tr "iade süresi kaç gün?" --explain
  .venv/bin/python manage.py ingest {demo.TENANT}/tr FILE_OR_FOLDER
  .venv/bin/python manage.py benchmark       what a search costs on this machine
"""
