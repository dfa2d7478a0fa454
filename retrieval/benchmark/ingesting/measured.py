"""All of it, one part after another."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from retrieval.benchmark.ingesting import parts
from retrieval.benchmark.ingesting.ground import Ground, ground, with_embedder
from retrieval.benchmark.ingesting.invent_pages import write_site
from retrieval.benchmark.ingesting.invent_pdf import pdf
from retrieval.benchmark.ingesting.processes import python, serving, started
from retrieval.benchmark.ingesting.site import SITEMAP
from retrieval.benchmark.loading.invent import Inventor
from retrieval.benchmark.progress import told

HERE = "retrieval.benchmark.ingesting"
EMBEDDER_SECONDS = 0.25  # what an embedder elsewhere takes for a request
WORKERS = (1, 2, 4)


@dataclass(frozen=True)
class Amount:
    """Documents for each number of workers, pages of the website, pages of the PDF; the folder of
    a real website instead of an invented one."""

    documents: int = 60
    pages: int = 1_000
    pdf_pages: int = 1_000
    site: Path | None = None


def measured(name: str, amount: Amount, inventor: Inventor) -> dict[str, Any]:
    """`name`: of the run's tenant, which its database bears."""
    with ground(name) as place:
        with with_embedder(place, inventor.width, EMBEDDER_SECONDS) as slow:
            counts = map(str, WORKERS)
            workers = _inside(slow, "workers", slow.folder, amount.documents, *counts)
        with with_embedder(place, inventor.width, 0) as instant:
            pages = _pages(instant, amount, inventor)
    return {
        "cores": parts.cores(),
        "embedder_seconds_a_request": EMBEDDER_SECONDS,
        "workers": workers,
        "pages": pages,
        "pdf": _pdf(amount.pdf_pages, inventor),
    }


def _pages(place: Ground, amount: Amount, inventor: Inventor) -> dict[str, Any]:
    folder = amount.site or place.folder / "site"
    if amount.site is None:
        write_site(folder, amount.pages, inventor)
    with serving(f"{HERE}.site", folder, amount.pages, environment=place.environment) as (port, _):
        address = f"127.0.0.1:{port}"
        allowed = {**place.environment, "CRAWL_ALLOWED_HOSTS": address}
        crawled = Ground(allowed, place.folder)
        found = _inside(crawled, "pages", place.folder, f"http://{address}{SITEMAP}", amount.pages)
    return {"site": amount.site.name if amount.site else "invented", **found}


def _pdf(pages: int, inventor: Inventor) -> dict[str, Any]:
    with (
        told(f"a PDF of {pages:,} pages"),
        TemporaryDirectory(prefix="dolphy-benchmark-") as folder,
    ):
        file = Path(folder) / "long.pdf"
        file.write_bytes(pdf(pages, inventor))
        command = python(f"{HERE}.parse_alone", file)
        environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "dolphy.settings"}
        return _answer(command, environment)


def _inside(place: Ground, part: str, *arguments: object) -> Any:
    return _answer(python(f"{HERE}.inside", part, *arguments), place.environment)


def _answer(command: list[str], environment: Mapping[str, str]) -> Any:
    """The JSON that a process of ours prints; its errors are on our standard error."""
    with started(command, environment) as process:
        said, _ = process.communicate()
        if process.returncode:
            raise RuntimeError(f"{command[2]} {command[3]} ended with {process.returncode}.")
    return json.loads(said.splitlines()[-1])
