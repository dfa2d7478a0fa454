"""One run: agents are loaded, then searched in turns, then documents ingested; all gone after."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dolphy import embedding
from ingestion.graph import EXACT_UP_TO
from retrieval.benchmark import scratch, search
from retrieval.benchmark.invent import Inventor
from retrieval.benchmark.measure import Timing, in_turns
from retrieval.benchmark.throughput import throughput
from retrieval.benchmark.web import search_over_http
from retrieval.evaluation.progress import bar
from tenants.models import Agent, Tenant

MEASURED = (30, 300, 1_000, 3_000, 5_000)
LARGER = (20_000, 100_000, 300_000)
WHOLE = 3_000  # the agent whose whole path, HTTP included, is timed
SELDOM = {"cold_retrieve": 8}


@dataclass(frozen=True)
class Size:
    """How much is measured: rows of the table, agents in it, rounds, documents ingested."""

    passages: int
    agents: int
    rounds: int = 120
    documents: int = 3

    def measured(self) -> list[int]:
        """The agents that are looked at, smallest first: as many as the table holds."""
        sizes: list[int] = []
        for size in (*MEASURED, *LARGER):
            if sum(sizes) + size <= self.passages:
                sizes.append(size)
        return sizes

    def others(self) -> list[int]:
        """The agents that share the rest of the table and are only there."""
        left, count = self.passages - sum(self.measured()), self.agents - len(self.measured())
        return [left // count] * count if count > 0 and left >= count else []


def run(size: Size) -> dict[str, Any]:
    """All figures of one run; the shape of the command's JSON."""
    inventor = Inventor(embedding.configured().space.dimensions)
    with scratch.tenant() as owner:
        with bar("ingestion") as tell:
            ingestion = throughput(owner, size.documents, inventor, tell)
        subjects = {n: _subject(owner, n, inventor) for n in size.measured()}
        scratch.settle()
        alone = _agents(subjects, size.rounds, "the measured agents alone")
        for number, passages in enumerate(size.others()):
            _load(owner, f"other-{number}", passages, inventor)
        scratch.settle()
        together = _agents(subjects, size.rounds, "the whole table")
        rows = scratch.table_size()
        holds = _holds(size, rows, scratch.rows_of(owner))
        timed = subjects[max((n for n in subjects if n <= WHOLE), default=min(subjects))]
        timings = _whole_path(timed, size.rounds)
    return {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked_for": {"passages": size.passages, "agents": size.agents, "rounds": size.rounds},
        "table": rows,
        "table_holds": holds,
        "space": str(embedding.configured().space),
        "exact_up_to": EXACT_UP_TO,
        "timed_agent": timed.index.passages,
        "timed_seldom": SELDOM,
        "timings_ms": {name: taken.as_dict() for name, taken in timings.items()},
        "ratios": _ratios(timings),
        "ingestion": ingestion,
        "agents": together,
        "growth": _growth(alone, together, rows),
    }


def _holds(size: Size, rows: int, own: int) -> dict[str, int]:
    """Whose the rows of the table are; the sum is `rows`."""
    measured, others = sum(size.measured()), sum(size.others())
    ingested = own - measured - others
    return {
        "measured_agents": measured,
        "other_agents": others,
        "ingested": ingested,
        "other_tenants": rows - own,
    }


def _subject(owner: Tenant, size: int, inventor: Inventor) -> search.Subject:
    vectors = _load(owner, f"agent-{size}", size, inventor)
    agent = Agent.objects.get(tenant=owner, slug=f"agent-{size}")
    return search.subject(agent, vectors, inventor)


def _load(owner: Tenant, slug: str, size: int, inventor: Inventor) -> Any:
    with bar(f"loading {slug}") as tell:
        return scratch.load(owner, slug, size, inventor, tell)


def _agents(subjects: dict[int, search.Subject], rounds: int, where: str) -> list[dict[str, Any]]:
    found = []
    for size, subject in subjects.items():
        with bar(f"searching {size} in {where}") as tell:
            found.append(search.figures(subject, rounds, tell))
    return found


def _whole_path(of: search.Subject, rounds: int) -> dict[str, Timing]:
    names = search.remember(of)
    with (
        search_over_http(of.agent, [asked.text for asked in of.questions]) as over_http,
        bar("the whole path") as tell,
    ):
        operations = {
            "select_1": search.select_1,
            "vector_top40": search.bare_query(of),
            "statement": search.statement(of, of.questions),
            **search.whole(of, names),
            "http_search": over_http,
        }
        return in_turns(operations, rounds, tell, seldom=SELDOM)


def _ratios(timings: dict[str, Timing]) -> dict[str, float]:
    return {
        "statement_to_vector_top40": search.ratio(timings, "p50", "statement", "vector_top40"),
        "statement_to_vector_top40_p95": search.ratio(timings, "p95", "statement", "vector_top40"),
        "warm_retrieve_minus_statement_ms": round(
            timings["warm_retrieve"].p50 - timings["statement"].p50, 3
        ),
        "http_search_to_warm_retrieve": search.ratio(
            timings, "p50", "http_search", "warm_retrieve"
        ),
    }


def _growth(
    alone: list[dict[str, Any]], together: list[dict[str, Any]], rows: int
) -> list[dict[str, Any]]:
    """How an agent's cost changes when others fill the table, and from agent to agent."""
    small = sum(row["passages"] for row in alone)
    return [
        {
            "passages": before["passages"],
            "statement_p50_ms": {str(small): before["p50_ms"], str(rows): after["p50_ms"]},
            "ratio": round(after["p50_ms"] / before["p50_ms"], 2),
        }
        for before, after in zip(alone, together, strict=True)
    ]
