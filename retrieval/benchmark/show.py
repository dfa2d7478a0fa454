"""The figures of a run as tables for a person, with what to know before reading them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table

from retrieval.benchmark.ingesting import show as ingesting
from retrieval.benchmark.new_table import new_table
from retrieval.benchmark.searching.agents import LEXICAL, OWN, SAME_WAY

ORDER = (
    "select_1", OWN, SAME_WAY, "statement", "warm_retrieve", "cold_retrieve", "http_search",
)  # fmt: skip
FEW_ROUNDS = 60


def tables(found: Mapping[str, Any]) -> Iterator[Table]:
    yield timings(found)
    yield pools(found)
    yield branches(found)
    yield costs(found)
    yield processor(found)
    yield growth(found)
    yield ingestion(found)
    if "workers" in found["ingestion"]:
        yield from ingesting.tables(found["ingestion"])


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
    if asked["agents"] and missing >= asked["agents"]:
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
    bare = found["timings_ms"][OWN]
    title = f"One search, an agent of {found['timed_agent']:,} passages (ms)"
    table = new_table(title, "", "p50", "p95", "× own p50", "× own p95")
    for name in ORDER:
        taken = found["timings_ms"][name]
        times = (f"{taken[p] / bare[p]:.2f}" for p in ("p50", "p95"))
        table.add_row(name, f"{taken['p50']:.2f}", f"{taken['p95']:.2f}", *times)
    return table


def pools(found: Mapping[str, Any]) -> Table:
    table = new_table(
        f"Pools in a table of {found['table']:,} passages",
        "passages", "route", "smallest pool", "recall@40", "own index's recall@40",
    )  # fmt: skip
    for row in found["agents"]:
        table.add_row(
            f"{row['passages']:,}",
            row["route"] + (f" ({row['refilled']} refilled)" if row["refilled"] else ""),
            str(row["pool"]),
            f"{row['recall_at_40']:.3f}",
            f"{row['own_index_recall_at_40']:.3f}",
        )
    return table


def branches(found: Mapping[str, Any]) -> Table:
    """What each branch costs inside the boundary, times an index of the agent alone."""
    table = new_table(
        f"Branches in a table of {found['table']:,} passages (ms, p50 / p95)",
        "passages", "own index", "semantic", "× own", "lexical, common words", "× own",
    )  # fmt: skip
    for row in found["agents"]:
        table.add_row(
            f"{row['passages']:,}",
            _both(row[OWN]),
            _both(row[SAME_WAY]),
            _times(row, SAME_WAY, OWN),
            _both(row[LEXICAL]),
            _times(row, LEXICAL, OWN),
        )
    return table


def costs(found: Mapping[str, Any]) -> Table:
    """The statement and the one of common words, times either bare query."""
    table = new_table(
        f"The statement in a table of {found['table']:,} passages (ms, p50 / p95)",
        "passages", "statement", "× own", "× semantic", "common words", "× own", "× semantic",
    )  # fmt: skip
    for row in found["agents"]:
        table.add_row(
            f"{row['passages']:,}",
            _both({"p50": row["p50_ms"], "p95": row["p95_ms"]}),
            *(_times(row, "statement", bare) for bare in (OWN, SAME_WAY)),
            _both(row["common_words"]),
            *(_times(row, "common", bare) for bare in (OWN, SAME_WAY)),
        )
    return table


def _times(row: Mapping[str, Any], name: str, bare: str) -> str:
    p50, p95 = (row["ratios"][f"{name}_to_{bare}_{which}"] for which in ("p50", "p95"))
    return f"{p50:.1f} / {p95:.1f}"


def _both(taken: Mapping[str, float]) -> str:
    return f"{taken['p50']:.2f} / {taken['p95']:.2f}"


def processor(found: Mapping[str, Any]) -> Table:
    names = {
        OWN: "own index", SAME_WAY: "semantic", LEXICAL: "lexical", "statement": "statement",
        "common": "common",
    }  # fmt: skip
    table = new_table(
        "Processor time of the same (ms, server + client)",
        "passages", *names.values(), "statement × own", "common × own",
    )  # fmt: skip
    for row in found["agents"]:
        spent = row["processor_ms"]
        whole = {name: (spent[name]["server"] or 0) + spent[name]["client"] for name in names}
        table.add_row(
            f"{row['passages']:,}",
            *(_server_and_client(spent[name]) for name in names),
            *(f"{whole[name] / whole[OWN]:.1f}" for name in ("statement", "common")),
        )
    return table


def _server_and_client(spent: Mapping[str, float | None]) -> str:
    server = "?" if spent["server"] is None else f"{spent['server']:.2f}"
    return f"{server} + {spent['client']:.2f}"


def growth(found: Mapping[str, Any]) -> Table:
    sizes = list(found["growth"][0]["statement_p50_ms"])
    titles = [f"{what} in {int(size):,}" for what in ("p50", "processor") for size in sizes]
    titles.insert(2, "×")
    table = new_table("The statement as the table grows (ms)", "passages", *titles, "×")
    for row in found["growth"]:
        taken, spent = row["statement_p50_ms"], row["statement_processor_ms"]
        table.add_row(
            f"{row['passages']:,}",
            *(f"{taken[size]:.2f}" for size in sizes),
            f"{row['ratio']:.2f}",
            *(f"{spent[size]:.2f}" for size in sizes),
            f"{row['processor_ratio']:.2f}",
        )
    return table


def ingestion(found: Mapping[str, Any]) -> Table:
    got = found["ingestion"]
    title = "Ingestion (embedder busy: the share of the jobs' time spent inside the embedder)"
    table = new_table(title, "passages", "a second", "embedder alone", "embedder busy", "memory")
    table.add_row(
        str(got["passages"]),
        f"{got['passages_per_s']:.2f}",
        f"{got['embedder_alone_passages_per_s']:.2f}",
        f"{got['embedder_busy']:.0%}",
        f"{got['process_mb']} MB",
    )
    return table
