"""What is measured on the ground, in a process whose settings name it (see `ground.py`).

    python -m retrieval.benchmark.ingesting.inside PART ARGUMENT… → one line of JSON

Parts: `workers FOLDER DOCUMENTS COUNT…`, `pages FOLDER URL PAGES`.
"""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import django


def main(part: str, *arguments: str) -> None:
    signal.signal(signal.SIGTERM, _leave)
    django.setup()
    measured = _workers(*arguments) if part == "workers" else _pages(*arguments)
    sys.stdout.write(json.dumps(measured) + "\n")


def _leave(number: int, frame: FrameType | None) -> NoReturn:
    """Through every `finally`, so that the workers end before us."""
    raise SystemExit(128 + number)


def _workers(folder: str, documents: str, *counts: str) -> list[dict[str, Any]]:
    """Documents a second with so many workers, one count after another."""
    from retrieval.benchmark.ingesting.workers import throughput
    from retrieval.benchmark.progress import told

    inventor, found = _inventor(), []
    for count in map(int, counts):
        agent = _agent(f"workers-{count}")
        with told(f"{documents} documents, {count} workers") as tell:
            found.append(throughput(agent, count, int(documents), inventor, Path(folder), tell))
    return found


def _pages(folder: str, url: str, pages: str) -> dict[str, Any]:
    """A website by this process alone, then again, for another agent, by workers."""
    from retrieval.benchmark.ingesting.pages import pages_a_second
    from retrieval.benchmark.ingesting.pages_by_workers import pages_by_workers
    from retrieval.benchmark.progress import told

    with told(f"{pages} pages of a website") as tell:
        found = pages_a_second(_agent("website"), url, int(pages), tell)
    agent = _agent("website-by-workers")
    with told(f"{pages} pages by workers") as tell:
        by_workers = pages_by_workers(agent, url, int(pages), _inventor(), Path(folder), tell)
    return {**found, "by_workers": by_workers}


def _inventor() -> Any:
    from dolphy import embedding
    from retrieval.benchmark.loading.invent import Inventor

    return Inventor(embedding.configured().space.dimensions)


def _agent(slug: str) -> Any:
    """A new agent of a tenant that has this ground to itself."""
    from django.core.management import call_command

    from tenants.models import Agent, Tenant

    call_command("migrate", verbosity=0, interactive=False)
    tenant, _ = Tenant.objects.get_or_create(slug="benchmark", defaults={"name": "Benchmark"})
    return Agent.objects.create(tenant=tenant, slug=slug, name=slug, language="tr")


if __name__ == "__main__":
    main(*sys.argv[1:])
