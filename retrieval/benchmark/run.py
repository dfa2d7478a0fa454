"""One run: agents are loaded and searched in turns, documents ingested; all gone after."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from dolphy import embedding
from ingestion.graph import EXACT_UP_TO
from retrieval.benchmark.ingesting.beside_embedder import throughput
from retrieval.benchmark.ingesting.measured import Amount, measured
from retrieval.benchmark.loading import scratch
from retrieval.benchmark.loading.invent import Inventor
from retrieval.benchmark.loading.load import Contents, load, own, pooled
from retrieval.benchmark.measure import Timing, in_turns
from retrieval.benchmark.progress import told
from retrieval.benchmark.searching import agents, search
from retrieval.benchmark.searching.agents import OWN, SAME_WAY, ratio
from retrieval.benchmark.searching.subject import Subject, subject
from retrieval.benchmark.searching.web import search_over_http
from retrieval.benchmark.size import Size
from retrieval.evaluation.progress import Tell
from tenants.models import Agent, Tenant

Measure = Callable[[Subject, int, Tell], dict[str, Any]]

WHOLE = 3_000  # the agent whose whole path, HTTP included, is timed
SELDOM = {"cold_retrieve": 8}


def run(size: Size, amount: Amount | None = None) -> dict[str, Any]:
    """All figures of one run; the shape of the command's JSON. With an `amount`, of ingestion as
    well."""
    inventor = Inventor(embedding.configured().space.dimensions)
    with scratch.tenant() as owner:
        more = measured(owner.slug, amount, inventor) if amount else {}
        with told("ingestion") as tell:
            ingestion = throughput(owner, size.documents, inventor, tell)
        subjects = {n: _subject(owner, n, inventor) for n in size.measured()}
        scratch.settle()
        alone = _agents(subjects, agents.statement_alone, size.rounds, "the measured agents alone")
        _fill(owner, size, inventor)
        scratch.settle()
        together = _agents(subjects, agents.figures, size.rounds, "the whole table")
        rows = scratch.table_size()
        holds = _holds(size, rows, scratch.rows_of(owner))
        timed = subjects[max((n for n in subjects if n <= WHOLE), default=min(subjects))]
        timings = _whole_path(timed, size.rounds)
    return {
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "asked_for": vars(size),
        "table": rows,
        "table_holds": holds,
        "space": str(embedding.configured().space),
        "exact_up_to": EXACT_UP_TO,
        "timed_agent": timed.index.passages,
        "timed_seldom": SELDOM,
        "timings_ms": {name: taken.as_dict() for name, taken in timings.items()},
        "ratios": _ratios(timings),
        "ingestion": ingestion | more,
        "agents": together,
        "growth": _growth(alone, together, rows),
    }


def _holds(size: Size, rows: int, own_rows: int) -> dict[str, int]:
    """Whose the rows of the table are; the sum is `rows`."""
    measured, others = sum(size.measured()), sum(size.others())
    ingested = own_rows - measured - others
    return {
        "measured_agents": measured,
        "other_agents": others,
        "ingested": ingested,
        "other_tenants": rows - own_rows,
    }


def _subject(owner: Tenant, size: int, inventor: Inventor) -> Subject:
    slug = f"agent-{size}"
    with told(f"loading an agent of {size:,}") as tell:
        vectors = load(owner, slug, size, inventor, own(inventor), tell)
    with told(f"indexing the vectors of {size:,} by themselves"):
        return subject(Agent.objects.get(tenant=owner, slug=slug), vectors, inventor)


def _fill(owner: Tenant, size: Size, inventor: Inventor) -> None:
    contents: Contents = pooled(inventor)
    others = size.others()
    with told(f"loading {len(others)} other agents") as tell:
        for number, passages in enumerate(others):
            load(owner, f"other-{number}", passages, inventor, contents, lambda *_: None)
            tell(number + 1, len(others))


def _agents(
    subjects: dict[int, Subject], measure: Measure, rounds: int, where: str
) -> list[dict[str, Any]]:
    found = []
    for size, one in subjects.items():
        with told(f"searching {size:,} in {where}") as tell:
            found.append(measure(one, rounds, tell))
    return found


def _whole_path(of: Subject, rounds: int) -> dict[str, Timing]:
    names = search.remember(of)
    with (
        search_over_http(of.agent, [asked.text for asked in of.questions]) as over_http,
        told("the whole path") as tell,
    ):
        operations = {
            "select_1": search.select_1,
            OWN: search.own_index_query(of),
            SAME_WAY: search.bare_query(of),
            "statement": search.statement(of, of.questions),
            **search.whole(of, names),
            "http_search": over_http,
        }
        return in_turns(operations, rounds, tell, seldom=SELDOM)


def _ratios(timings: dict[str, Timing]) -> dict[str, float]:
    to_bare = {
        f"statement_to_{bare}{suffix}": ratio(timings, which, "statement", bare)
        for bare in (OWN, SAME_WAY)
        for which, suffix in (("p50", ""), ("p95", "_p95"))
    }
    warm = timings["warm_retrieve"].p50
    return {
        **to_bare,
        "warm_retrieve_minus_statement_ms": round(warm - timings["statement"].p50, 3),
        "http_search_to_warm_retrieve": ratio(timings, "p50", "http_search", "warm_retrieve"),
    }


def _growth(
    alone: list[dict[str, Any]], together: list[dict[str, Any]], rows: int
) -> list[dict[str, Any]]:
    """How an agent's cost changes when others fill the table, and from agent to agent."""
    tables = (str(sum(row["passages"] for row in alone)), str(rows))
    return [
        {
            "passages": pair[0]["passages"],
            "statement_p50_ms": dict(zip(tables, (row["p50_ms"] for row in pair), strict=True)),
            "statement_processor_ms": dict(zip(tables, map(_processor_ms, pair), strict=True)),
            "ratio": round(pair[1]["p50_ms"] / pair[0]["p50_ms"], 2),
            "processor_ratio": round(_processor_ms(pair[1]) / _processor_ms(pair[0]), 2),
        }
        for pair in zip(alone, together, strict=True)
    ]


def _processor_ms(row: dict[str, Any]) -> float:
    spent = row["processor_ms"]["statement"]
    return round((spent["server"] or 0.0) + spent["client"], 3)
