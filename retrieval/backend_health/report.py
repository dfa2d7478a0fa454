"""The whole report, and what in it needs somebody's attention."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from django.utils import timezone

from ingestion.trust import IGNORED, MISMATCH
from retrieval.backend_health import stored, surroundings

PROBE_AGE = timedelta(hours=36)  # nightly, with room for one night that failed
AGENTS_SHOWN = 200


def report() -> dict[str, Any]:
    """Everything, as JSON can hold it; `problems` is empty and `status` "ok" when all is well.

    At most `AGENTS_SHOWN` agents are listed, those with something wrong first.
    """
    agents = stored.agents()
    spaces = stored.spaces(agents)
    last = stored.last_probe(agents, spaces)
    found: dict[str, Any] = {
        "at": timezone.now(),
        "last_probe": {"measured_at": last.measured_at, "age_s": last.age_s},
        "spaces": [asdict(one) for one in spaces],
        "analyser": stored.analyser(agents),
        "branches": stored.branches(agents),
        "underfilled": surroundings.underfilled(),
        "building": [asdict(one) for one in stored.building()],
        "embedder": surroundings.embedder(),
        "chat_model": surroundings.chat_model(),
        "queue": surroundings.queue(),
        "jobs": surroundings.jobs(),
        "workers": surroundings.workers(),
        "agents": {"total": len(agents), "shown": [asdict(one) for one in _worst_first(agents)]},
    }
    problems = [
        {"code": code, "message": message}
        for code, message in (*_of_agents(agents), *_of_spaces(found), *_of_surroundings(found))
    ]
    return {"status": "attention" if problems else "ok", "problems": problems} | found


def _worst_first(agents: list[stored.AgentHealth]) -> list[stored.AgentHealth]:
    def weight(one: stored.AgentHealth) -> tuple[Any, ...]:
        broken = one.graph in (stored.MISSING, stored.INVALID)
        return one.trust != MISMATCH, one.trust != IGNORED, not broken, not one.stale, one.agent

    return sorted(agents, key=weight)[:AGENTS_SHOWN]


def _of_agents(agents: list[stored.AgentHealth]) -> Iterator[tuple[str, str]]:
    if refused := [one.agent for one in agents if one.trust == MISMATCH]:
        yield "space_mismatch", f"Searches are refused, the model has changed: {_some(refused)}."
    if ignored := [one.agent for one in agents if one.trust == IGNORED]:
        yield "probe_ignored", f"Searches are answered despite a mismatch: {_some(ignored)}."
    if broken := [one.agent for one in agents if one.graph in (stored.MISSING, stored.INVALID)]:
        yield "graph_missing", f"Scanned exactly, and slower, for want of a graph: {_some(broken)}."
    if stale := [one.agent for one in agents if one.stale]:
        yield "analyser_stale", f"Run reembed --analyser for: {_some(stale)}."


def _of_spaces(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for one in found["spaces"]:
        age, error = one["probe"]["age_s"], one["probe"]["error_code"]
        if not one["served"]:
            yield "space_not_served", f"{_count(one['agents'], 'agent')} in {one['space']}."
        elif error:
            yield "probe_failed", f"The last probe of {one['space']} ended in {error}."
        elif age is None:
            yield "never_probed", f"{one['space']} was never probed."
        elif age > PROBE_AGE.total_seconds():
            yield "probe_old", f"{one['space']} was last probed {age // 3600} hours ago."
    for name, state in found["branches"]["lexical"].items():
        if state != stored.READY:
            yield "branch_not_ready", f"The full-text index over {name} lexemes is {state}."


def _of_surroundings(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    embedder, jobs = found["embedder"], found["jobs"]
    if embedder["state"] != surroundings.ANSWERS:
        yield "embedder", f"{embedder['space']}: {embedder['state']} ({embedder['error_code']})."
    if found["underfilled"]["short"]:
        short = _count(found["underfilled"]["short"], "search", "searches")
        yield "underfilled", f"{short} saw too few passages."
    if found["queue"]["state"] != surroundings.ANSWERS:
        yield "queue", "The queue does not answer."
    if not found["workers"]:
        yield "no_worker", "No worker answers: uploads wait."
    if jobs["lease_ran_out"]:
        yield (
            "jobs_dead",
            f"Without a worker, until the sweep: {_count(jobs['lease_ran_out'], 'job')}.",
        )
    if jobs["held_up"]:
        yield "jobs_held_up", f"Put back, to be tried again: {_count(jobs['held_up'], 'job')}."
    if jobs["failed_last_day"]:
        yield "jobs_failed", f"{_count(jobs['failed_last_day'], 'job')} failed in the last day."


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"


def _some(names: list[str], shown: int = 5) -> str:
    rest = len(names) - shown
    return ", ".join(names[:shown]) + (f" and {rest} more" if rest > 0 else "")
