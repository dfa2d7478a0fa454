"""The figures of a run as tables for a person, with what to know before reading them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

ORDER = ("select_1", "vector_top40", "statement", "warm_retrieve", "cold_retrieve", "http_search")
FEW_ROUNDS = 60


def tables(found: Mapping[str, Any]) -> Iterator[Table]:
    yield timings(found)
    yield agents(found)
    yield growth(found)
    yield ingestion(found)


def notes(found: Mapping[str, Any]) -> Iterator[str]:
    """What the table holds, and what of the figures is not to be trusted."""
    asked, holds = found["asked_for"], found["table_holds"]
    sizes = [row["passages"] for row in found["agents"]]
    yield (
        f"The table holds {found['table']:,} passages: {holds['measured_agents']:,} of the "
        f"{len(sizes)} measured agents, {holds['other_agents']:,} of other agents of this run, "
        f"{holds['ingested']:,} that it ingested, {holds['other_tenants']:,} of other tenants."
    )
    missing = asked["passages"] - holds["measured_agents"] - holds["other_agents"]
    if missing >= asked["agents"]:
        yield (
            f"{asked['passages']:,} were asked for: the measured agents have fixed sizes "
            f"({', '.join(f'{size:,}' for size in sizes)}), and with --agents {asked['agents']} no "
            f"other agent is left to hold the remaining {missing:,}."
        )
    if asked["rounds"] < FEW_ROUNDS:
        yield _few(asked["rounds"], found["timed_seldom"])


def _few(rounds: int, seldom: Mapping[str, int]) -> str:
    rarely = [f"{name} was timed {math.ceil(rounds / n)}" for name, n in seldom.items()]
    return (
        f"Warning: with --rounds {rounds} the p95 is made of the slowest "
        f"{max(2, math.ceil(rounds / 20) + 1)} timings ({', '.join(rarely)} times); differences, "
        f"and the × of small figures, may be noise. Take {2 * FEW_ROUNDS} rounds to compare."
    )


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
    title = "Ingestion (embedder busy: the share of the jobs' time spent inside the embedder)"
    table = _table(title, "passages", "a second", "embedder alone", "embedder busy", "memory")
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
