"""The figures of a run as tables for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

ORDER = ("select_1", "vector_top40", "statement", "warm_retrieve", "cold_retrieve", "http_search")


def tables(found: Mapping[str, Any]) -> Iterator[Table]:
    yield timings(found)
    yield agents(found)
    yield growth(found)
    yield ingestion(found)


def timings(found: Mapping[str, Any]) -> Table:
    bare = found["timings_ms"]["vector_top40"]
    title = f"One search, an agent of {found['timed_agent']:,} passages (ms)"
    table = _table(title, "", "p50", "p95", "× bare p50", "× bare p95")
    for name in ORDER:
        taken = found["timings_ms"][name]
        times = (f"{taken[p] / bare[p]:.2f}" for p in ("p50", "p95"))
        table.add_row(name, f"{taken['p50']:.2f}", f"{taken['p95']:.2f}", *times)
    return table


def agents(found: Mapping[str, Any]) -> Table:
    table = _table(
        f"Agents in a table of {found['table']:,} passages (ms)",
        "passages", "route", "pool", "recall@40", "bare p50", "p50", "× bare", "bare p95", "p95",
        "× bare", "common p95", "× bare",
    )  # fmt: skip
    for row in found["agents"]:
        bare, common = row["vector_top40"], row["common_words"]
        table.add_row(
            f"{row['passages']:,}",
            row["route"] + (f" ({row['refilled']} refilled)" if row["refilled"] else ""),
            str(row["pool"]),
            f"{row['recall_at_40']:.3f}",
            f"{bare['p50']:.2f}",
            f"{row['p50_ms']:.2f}",
            f"{row['ratio_p50']:.2f}",
            f"{bare['p95']:.2f}",
            f"{row['p95_ms']:.2f}",
            f"{row['ratio_p95']:.2f}",
            f"{common['p95']:.2f}",
            f"{row['common_ratio_p95']:.2f}",
        )
    return table


def growth(found: Mapping[str, Any]) -> Table:
    sizes = list(found["growth"][0]["statement_p50_ms"])
    titles = [f"table of {int(size):,}" for size in sizes]
    table = _table("The statement as the table grows (p50, ms)", "passages", *titles, "×")
    for row in found["growth"]:
        taken = (f"{row['statement_p50_ms'][size]:.2f}" for size in sizes)
        table.add_row(f"{row['passages']:,}", *taken, f"{row['ratio']:.2f}")
    return table


def ingestion(found: Mapping[str, Any]) -> Table:
    got = found["ingestion"]
    table = _table("Ingestion", "passages", "a second", "embedder alone", "embedder busy", "memory")
    table.add_row(
        str(got["passages"]),
        f"{got['passages_per_s']:.2f}",
        f"{got['embedder_alone_passages_per_s']:.2f}",
        f"{got['embedder_busy']:.0%}",
        f"{got['process_mb']} MB",
    )
    return table


def _table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
