"""Ingestion is measured on a ground of its own, with real workers, and leaves nothing behind."""

from __future__ import annotations

import http.client
import json
import os
from io import StringIO
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import psutil
import pytest
from django.db import connection
from rich.console import Console

from dolphy.embedding.remote import RemoteEmbedder
from ingestion.models import IngestionJob
from retrieval.benchmark.ingesting import invent_pages, measured
from retrieval.benchmark.ingesting.ground import ENDPOINT
from retrieval.benchmark.ingesting.measured import Amount
from retrieval.benchmark.ingesting.parts import Reading
from retrieval.benchmark.ingesting.processes import python, serving, started
from retrieval.benchmark.ingesting.show import tables
from retrieval.benchmark.ingesting.stages import BETWEEN, stages_timed
from retrieval.benchmark.ingesting.workers import limit
from retrieval.benchmark.loading.invent import Inventor


def test_the_endpoint_is_an_embedder_that_counts_what_it_is_asked() -> None:
    with serving(ENDPOINT, 0.01, 16, environment=os.environ) as (port, _):
        embedder = RemoteEmbedder("scripted", 16, base_url=f"http://127.0.0.1:{port}/v1")
        one, other, again = embedder.embed_passages(["iade", "kargo", "iade"])
        assert (one == again).all() and (one != other).any()
        client = http.client.HTTPConnection("127.0.0.1", port)
        client.request("GET", "/counts")
        counts = json.loads(client.getresponse().read())
        client.close()
    assert (counts["requests"], counts["texts"]) == (1, 3) and counts["seconds"] >= 0.01


def test_a_process_ends_with_its_block() -> None:
    with pytest.raises(KeyboardInterrupt), started(python("http.server", 0), os.environ) as one:
        assert psutil.pid_exists(one.pid)
        raise KeyboardInterrupt
    assert one.poll() is not None


def test_readings_are_told_apart_by_part() -> None:
    before = Reading(10.0, 100.0, 5.0, 1.0, {"workers": 2.0})
    after = Reading(14.0, 107.0, 6.5, 1.25, {"workers": 5.0})
    assert after.since(before) == {
        "wall": 4.0, "machine": 7.0, "postgresql": 1.5, "valkey": 0.25, "workers": 3.0,
    }  # fmt: skip
    elsewhere = Reading(14.0, 107.0, None, 1.25, {"workers": 5.0})
    assert elsewhere.since(before)["postgresql"] is None


@pytest.mark.parametrize(
    ("shares", "ours", "named"),
    [
        ({"embedder": 0.8, "database": 0.1, "locks": 0.0, "cores": 0.3}, 0.3, "the embedder"),
        ({"embedder": 0.2, "database": 0.3, "locks": 0.0, "cores": 0.97}, 0.95, "the cores"),
        ({"embedder": 0.2, "database": 0.6, "locks": 0.1, "cores": 0.5}, 0.5, "the database"),
        ({"embedder": 0.2, "database": 0.7, "locks": 0.6, "cores": 0.5}, 0.5,
         "locks in the database"),
        ({"embedder": 0.2, "database": 0.3, "locks": 0.0, "cores": 0.98}, 0.4,
         "the cores, shared with others"),
        ({"embedder": 0.1, "database": 0.1, "locks": 0.0, "cores": 0.5}, 0.5, "the worker itself"),
    ],
)  # fmt: skip
def test_what_kept_it_from_being_faster_is_named(
    shares: dict[str, float], ours: float, named: str
) -> None:
    assert limit(shares, ours) == named


def test_time_is_that_of_the_stage_that_the_job_told_last(monkeypatch: Any) -> None:
    clock = iter(range(100))
    monkeypatch.setattr(IngestionJob, "progress", lambda *_: True)
    monkeypatch.setattr(IngestionJob, "succeed", lambda _: True)
    job = IngestionJob()
    name = "retrieval.benchmark.ingesting.stages.time."
    monkeypatch.setattr(f"{name}process_time", lambda: float(next(clock)))
    monkeypatch.setattr(f"{name}perf_counter", lambda: 0.0)
    with stages_timed() as spent:
        job.progress("parsing")
        job.progress("embedding", 0, 2)
        job.progress("embedding", 2, 2)
        job.succeed()
    assert spent.cpu == {BETWEEN: 2.0, "parsing": 1.0, "embedding": 1.0}
    assert IngestionJob.progress.__name__ == "<lambda>"


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_workers_pages_and_a_pdf_are_measured_and_nothing_is_left(monkeypatch: Any) -> None:
    monkeypatch.setattr(measured, "WORKERS", (2,))
    monkeypatch.setattr(measured, "EMBEDDER_SECONDS", 0.05)
    monkeypatch.setattr(invent_pages, "SECTIONS", 1)
    found = measured.measured("benchmark-test", Amount(4, 24, 5), Inventor(16))
    (row,) = found["workers"]
    assert row["workers"] == 2 and row["documents"] <= 4
    assert row["passages"] > 0 and row["documents_per_s"] > 0
    assert row["requests"] > 0 and row["cpu_s"]["workers"] > 0
    assert 0 <= row["shares"]["embedder"] <= 1.05
    pages = found["pages"]
    assert (pages["site"], pages["pages"]) == ("invented", 24) and pages["passages"] > 50
    assert {"parsing", "segmenting", "analysing", "embedding"} <= set(pages["stages_cpu_s"])
    assert pages["stored_per_cpu_s"] <= pages["analysed_per_cpu_s"] <= pages["crawled_per_cpu_s"]
    assert pages["by_workers"]["documents"] == 24
    assert found["pdf"]["pages"] == 5 and found["pdf"]["peak_mb"] >= found["pdf"]["before_mb"]
    printed = StringIO()
    for table in tables(found):
        Console(file=printed, width=160).print(table)
    for words in ("by workers", "in the embedder", "fetched, read, settled", "at its peak"):
        assert words in printed.getvalue()
    assert not IngestionJob.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname = 'benchmark-test'")
        assert cursor.fetchone() == (0,)
    assert not list(Path(gettempdir()).glob("dolphy-benchmark-*"))
