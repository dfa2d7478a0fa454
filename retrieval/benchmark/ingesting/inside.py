"""What is measured on the ground, in a process whose settings name it (see `ground.py`).

    python -m retrieval.benchmark.ingesting.inside PART ARGUMENT… → one line of JSON

Parts: `workers FOLDER DOCUMENTS COUNT…`, `pages URL PAGES`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import django


def main(part: str, *arguments: str) -> None:
    django.setup()
    measured = _workers(*arguments) if part == "workers" else _pages(*arguments)
    sys.stdout.write(json.dumps(measured) + "\n")


def _workers(folder: str, documents: str, *counts: str) -> list[dict[str, Any]]:
    """Documents a second with so many workers, one count after another."""
    from dolphy import embedding
    from retrieval.benchmark.ingesting.workers import throughput
    from retrieval.benchmark.invent import Inventor
    from retrieval.benchmark.progress import told

    inventor = Inventor(embedding.configured().space.dimensions)
    found = []
    for count in map(int, counts):
        agent = _agent(f"workers-{count}")
        with told(f"{documents} documents, {count} workers") as tell:
            found.append(throughput(agent, count, int(documents), inventor, Path(folder), tell))
    return found


def _pages(url: str, pages: str) -> dict[str, Any]:
    from retrieval.benchmark.ingesting.pages import pages_a_second
    from retrieval.benchmark.progress import told

    with told(f"{pages} pages of a website") as tell:
        return pages_a_second(_agent("website"), url, int(pages), tell)


def _agent(slug: str) -> Any:
    """A new agent of a tenant that has this ground to itself."""
    from django.core.management import call_command

    from tenants.models import Agent, Tenant

    call_command("migrate", verbosity=0, interactive=False)
    tenant, _ = Tenant.objects.get_or_create(slug="benchmark", defaults={"name": "Benchmark"})
    return Agent.objects.create(tenant=tenant, slug=slug, name=slug, language="tr")


if __name__ == "__main__":
    main(*sys.argv[1:])
