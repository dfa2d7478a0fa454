"""Replay a trace: ask its question again with its settings, and say what differs.

Candidates are known by document uri and position, not by id: a document that was ingested again
has other ids and may say the same. Nothing of the agent is changed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any

from retrieval.models import Trace
from retrieval.retrieve import Retrieval, retrieve
from retrieval.show import slips_said
from tenants.models import Agent

DEEPEST = 200
NAMES_SHOWN = 5
SAME_COSINE = 1e-4
Record = Mapping[str, Any]
Key = tuple[str, int]
_FROM_AGENT = (
    "semantic_weight",
    "lexical_weight",
    "semantic_depth",
    "lexical_depth",
    "document_cap",
    "strongest_document_cap",
)
_SURROUNDINGS = {
    "space": "embedding space",
    "analyser": "analyser version",
    "passages": "number of passages in the index",
    "route": "way of scanning",
    "embedded": "text that was embedded",
}


@dataclass(frozen=True)
class Replay:
    """What the same question finds now. `differences` is empty when nothing differs."""

    now: Retrieval
    same_evidence: bool
    same_pool: bool
    differences: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        return {
            "same_evidence": self.same_evidence,
            "same_pool": self.same_pool,
            "differences": list(self.differences),
            "trace": self.now.trace,
        }


def replay(trace: Trace) -> Replay:
    """Raises what `retrieve()` raises, such as `SpaceNotServed`."""
    settings = trace.record["settings"]
    now = retrieve(
        _as_then(trace.agent, settings),
        trace.question,
        limit=settings["limit"],
        fusion=settings["fusion"],
    )
    return compared(trace.record, now)


def compared(then: Record, now: Retrieval) -> Replay:
    before, after = then["candidates"], now.trace["candidates"]
    return Replay(
        now,
        same_evidence=_evidence(before) == _evidence(after),
        same_pool=_order(before) == _order(after),
        differences=(*_surroundings(then, now.trace), *_candidates(before, after)),
    )


def reach(trace: Trace, uri: str) -> list[Record]:
    """The document's candidates when both branches go as deep as they can: how far out of reach
    one that was not in the pool is. Empty when it is beyond that as well."""
    settings = trace.record["settings"]
    agent = _as_then(trace.agent, settings)
    agent.semantic_depth = agent.lexical_depth = DEEPEST
    found = retrieve(agent, trace.question, limit=settings["limit"], fusion=settings["fusion"])
    return [row for row in found.trace["candidates"] if row["uri"] == uri]


def _as_then(agent: Agent, settings: Record) -> Agent:
    """The agent with the settings of the trace, not saved. A branch that was left out has depth 0
    there, and is left out again by the fusion's name."""
    agent = copy(agent)
    for name in _FROM_AGENT:
        if settings[name] or not name.endswith("_depth"):
            setattr(agent, name, settings[name])
    return agent


def _surroundings(then: Record, now: Record) -> Iterator[str]:
    for name, what in _SURROUNDINGS.items():
        old, new = then.get(name), now.get(name)
        if old != new:
            yield f"The {what} was {_said(old)}, and is {_said(new)}."
    if (old := slips_said(then)) != (new := slips_said(now)):
        yield f"Slips put right were {old}, and are {new}."
    for name in sorted({*then["settings"], *now["settings"]}):
        old, new = then["settings"].get(name), now["settings"].get(name)
        if old != new:
            yield f"The setting {name} was {_said(old)}, and is {_said(new)}."


def _candidates(before: Sequence[Record], after: Sequence[Record]) -> Iterator[str]:
    old = {_key(row): row for row in before}
    new = {_key(row): row for row in after}
    shared = [key for key in old if key in new]
    yield from _named("no longer in the pool", [key for key in old if key not in new])
    yield from _named("new in the pool", [key for key in new if key not in old])
    other = [key for key in shared if _differs(old[key], new[key])]
    yield from _named("of another cosine: text, title or vector is not what it was", other)
    order = [key for key in new if key in old]
    if order != shared:
        moved = [key for key in shared if old[key]["place"] != new[key]["place"]]
        yield from _named("in another place", moved)


def _differs(old: Record, new: Record) -> bool:
    return abs(old["similarity"] - new["similarity"]) > SAME_COSINE


def _named(what: str, keys: Sequence[Key]) -> Iterator[str]:
    if keys:
        names = ", ".join(f"{uri}#{position}" for uri, position in keys[:NAMES_SHOWN])
        rest = f" and {len(keys) - NAMES_SHOWN} more" if len(keys) > NAMES_SHOWN else ""
        noun = "passage is" if len(keys) == 1 else "passages are"
        yield f"{len(keys)} {noun} {what}: {names}{rest}."


def _key(row: Record) -> Key:
    return row["uri"], row["position"]


def _order(rows: Sequence[Record]) -> list[Key]:
    return [_key(row) for row in rows]


def _evidence(rows: Sequence[Record]) -> list[Key]:
    kept = [row for row in rows if row["rank"] is not None]
    return [_key(row) for row in sorted(kept, key=lambda row: row["rank"])]


def _said(value: object) -> str:
    return (
        "not recorded" if value is None else repr(value) if isinstance(value, str) else str(value)
    )
