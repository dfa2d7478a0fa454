"""What ingestion costs, as tables for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from retrieval.benchmark.new_table import new_table

PARTS = ("workers", "postgresql", "valkey", "endpoint")
AIM_PAGES, AIM_MB = 50, 500


def tables(found: Mapping[str, Any]) -> Iterator[Table]:
    yield throughput(found)
    yield shares(found)
    yield pages(found["pages"])
    yield pdf(found["pdf"])


def throughput(found: Mapping[str, Any]) -> Table:
    seconds = found["embedder_seconds_a_request"]
    table = new_table(
        f"Documents by workers ({seconds} s a request to the embedder, {found['cores']} cores)",
        "workers", "documents/s", "passages/s", "× one worker", "limit",
    )  # fmt: skip
    one = found["workers"][0]["documents_per_s"]
    for row in found["workers"]:
        table.add_row(
            str(row["workers"]),
            f"{row['documents_per_s']:.2f}",
            f"{row['passages_per_s']:.1f}",
            f"{row['documents_per_s'] / one:.2f}",
            row["limit"],
        )
    return table


def shares(found: Mapping[str, Any]) -> Table:
    table = new_table(
        "Where the workers were, what the cores did, and processor seconds a thousand passages",
        "workers", "in the embedder", "in the database", "of it for locks", "cores busy",
        "with this", *PARTS,
    )  # fmt: skip
    for row in found["workers"]:
        spent = row["cpu_s"]
        table.add_row(
            str(row["workers"]),
            *(f"{row['shares'][name]:.0%}" for name in ("embedder", "database", "locks", "cores")),
            f"{row['cores_busy_with_this']:.0%}",
            *(_a_thousand(spent[part], row["passages"]) for part in PARTS),
        )
    return table


def _a_thousand(seconds: float | None, passages: int) -> str:
    return "?" if seconds is None else f"{1000 * seconds / passages:.2f}"


def pages(row: Mapping[str, Any]) -> Table:
    title = (
        f"{row['pages']:,} pages ({row['site']}), {row['passages']:,} passages, one process, "
        "embedding aside"
    )
    table = new_table(title, "", "seconds", "CPU seconds", "pages a CPU second, up to here")
    spent, wall = row["stages_cpu_s"], row["stages_s"]
    total = row["crawl_cpu_s"]
    table.add_row(
        "fetched, read, settled",
        f"{row['crawl_s']:.1f}",
        f"{total:.1f}",
        f"{row['pages'] / total:.0f}",
    )
    for stage in ("received", "parsing", "segmenting", "analysing", "indexing", "between"):
        total += spent.get(stage, 0.0)
        table.add_row(
            "claiming, committing" if stage == "between" else stage,
            f"{wall.get(stage, 0.0):.1f}",
            f"{spent.get(stage, 0.0):.1f}",
            f"{row['pages'] / total:.0f}",
        )
    database = row["postgresql_cpu_s"]
    known = database is not None
    table.add_row(
        "PostgreSQL for all of it",
        "",
        f"{database:.1f}" if known else "?",
        f"{row['pages'] / (total + database):.0f}" if known else "?",
    )
    embedding = spent.get("embedding", 0.0)
    table.add_row("not counted: asking for vectors", "", f"{embedding:.1f}", "")
    crew = row["by_workers"]
    table.caption = (
        f"By the clock: {row['pages_per_s']:.1f} pages a second in one process, "
        f"{crew['documents_per_s']:.1f} by {crew['workers']} workers, embedding and all (limit: "
        f"{crew['limit']}). Aim: {AIM_PAGES} a CPU second, fetched to analysed."
    )
    return table


def pdf(row: Mapping[str, Any]) -> Table:
    table = new_table(
        "A PDF parsed in a process of its own",
        "pages", "file", "seconds", "CPU seconds", "memory before", "at its peak", "aim",
    )  # fmt: skip
    table.add_row(
        f"{row['pages']:,}",
        f"{row['file_mb']:.1f} MB",
        f"{row['seconds']:.1f}",
        f"{row['cpu_seconds']:.1f}",
        f"{row['before_mb']:.0f} MB",
        f"{row['peak_mb']:.0f} MB",
        f"{AIM_MB} MB",
    )
    return table
