"""What is stored: the figures of each space and agent, analyser versions, branches.

Everything here reads rows that probes wrote or that are few; no passage is touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.utils import timezone

from dolphy import embedding
from ingestion import graph
from ingestion.analyse import ANALYSER_VERSION
from ingestion.indexes import space_of
from ingestion.models import Index, IndexProbe, SpaceProbe
from ingestion.trust import IGNORED, MISMATCH, TRUSTED, trust_of

NOT_PROBED, NOT_COMPARED = "not probed yet", "not compared"
READY, MISSING, INVALID, UNWANTED = "ready", "missing", "invalid", "not wanted"
LEXICAL = {"stemmed": "indexed_passage_stemmed", "plain": "indexed_passage_plain"}


@dataclass(frozen=True, slots=True)
class Figures:
    """The last probe: `age_s` seconds ago; None everywhere when there was none."""

    median: float | None = None
    lowest: float | None = None
    compared: int = 0
    changed: int = 0
    below: int = 0
    error_code: str = ""
    measured_at: datetime | None = None
    age_s: int | None = None


@dataclass(frozen=True, slots=True)
class SpaceHealth:
    space: str
    served: bool
    agents: int
    passages: int
    mismatched: int
    probe: Figures


@dataclass(frozen=True, slots=True)
class AgentHealth:
    """`trust` is that of `ingestion.trust`, except that nobody vouches for an agent that no probe
    has looked at, or whose probe could compare nothing. `analysers` counts passages by version as
    the last probe saw them."""

    agent: str
    space: str
    passages: int
    trust: str
    probe: Figures
    analysers: Mapping[str, int]
    stale: int
    graph: str


@dataclass(frozen=True, slots=True)
class Building:
    """An index that is being built beside the one that serves."""

    agent: str
    space: str
    since: datetime


def agents() -> list[AgentHealth]:
    """Every agent that an index serves, by name."""
    probes = {
        probe.index_id: probe
        for probe in IndexProbe.objects.filter(index__state=Index.State.SERVING)
        .order_by("index_id", "-measured_at")
        .distinct("index_id")
    }
    there = indexes_of_the_table()
    found = [_agent(index, probes.get(index.pk), there) for index in _indexes("serving")]
    return sorted(found, key=lambda one: one.agent)


def _agent(index: Index, probe: IndexProbe | None, there: Mapping[str, bool]) -> AgentHealth:
    analysers = {} if probe is None else probe.analysers
    return AgentHealth(
        agent=str(index.agent),
        space=str(index.space),
        passages=index.passages,
        trust=_trust(index, probe),
        probe=figures(probe),
        analysers=analysers,
        stale=sum(n for version, n in analysers.items() if int(version) != ANALYSER_VERSION),
        graph=_graph(index, there),
    )


def _trust(index: Index, probe: IndexProbe | None) -> str:
    trust = trust_of(index)
    if trust != TRUSTED:
        return trust
    return NOT_PROBED if probe is None else TRUSTED if probe.compared else NOT_COMPARED


def _graph(index: Index, there: Mapping[str, bool]) -> str:
    if not graph.wants_graph(index) and not index.has_graph:
        return UNWANTED
    return _state(there.get(graph.name_of(index)))


def spaces(of: Sequence[AgentHealth]) -> list[SpaceHealth]:
    """Every space that serves an agent, with the last probe over all of its agents."""
    served = {str(embedder.space) for embedder in embedding.served()}
    probes = {
        str(probe.space): probe
        for probe in SpaceProbe.objects.select_related("space")
        .order_by("space_id", "-measured_at")
        .distinct("space_id")
    }
    return [
        SpaceHealth(
            space=name,
            served=name in served,
            agents=sum(one.space == name for one in of),
            passages=sum(one.passages for one in of if one.space == name),
            mismatched=sum(one.space == name and one.trust in (MISMATCH, IGNORED) for one in of),
            probe=figures(probes.get(name)),
        )
        for name in sorted({one.space for one in of})
    ]


def building() -> list[Building]:
    return [
        Building(str(index.agent), str(space_of(index)), index.created_at)
        for index in _indexes("building")
    ]


def analyser(of: Sequence[AgentHealth]) -> dict[str, Any]:
    """The running version against those that wrote the passages; agents not looked at yet."""
    versions: Counter[str] = Counter()
    for one in of:
        versions.update(one.analysers)
    return {
        "running": ANALYSER_VERSION,
        "passages": dict(sorted(versions.items())),
        "stale": sum(one.stale for one in of),
        "unknown_agents": sum(not one.analysers and one.passages > 0 for one in of),
    }


def branches(of: Sequence[AgentHealth]) -> dict[str, Any]:
    """Whether PostgreSQL's indexes for both branches are there and valid."""
    there = indexes_of_the_table()
    states = Counter(one.graph for one in of)
    return {
        "lexical": {name: _state(there.get(index)) for name, index in LEXICAL.items()},
        "semantic": {
            "exact": states[UNWANTED],
            "graphs_ready": states[READY],
            "graphs_missing": states[MISSING],
            "graphs_invalid": states[INVALID],
        },
    }


def indexes_of_the_table() -> dict[str, bool]:
    """The PostgreSQL indexes of the narrow table by name, and whether each can be used."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, indisvalid AND indisready FROM pg_index "
            "JOIN pg_class ON pg_class.oid = indexrelid "
            "WHERE indrelid = 'ingestion_indexedpassage'::regclass"
        )
        return dict(cursor.fetchall())


def last_probe(agents: Sequence[AgentHealth], spaces: Sequence[SpaceHealth]) -> Figures:
    """The newest probe of anything; without figures when nothing was ever probed."""
    probes = [*(one.probe for one in agents), *(one.probe for one in spaces)]
    taken = [probe for probe in probes if probe.age_s is not None]
    return min(taken, key=lambda probe: probe.age_s or 0, default=Figures())


def figures(probe: IndexProbe | SpaceProbe | None) -> Figures:
    if probe is None:
        return Figures()
    return Figures(
        median=probe.median,
        lowest=probe.lowest,
        compared=probe.compared,
        changed=probe.changed,
        below=probe.below,
        error_code=probe.error_code,
        measured_at=probe.measured_at,
        age_s=int((timezone.now() - probe.measured_at).total_seconds()),
    )


def _state(usable: bool | None) -> str:
    return MISSING if usable is None else READY if usable else INVALID


def _indexes(state: str) -> list[Index]:
    indexes = Index.objects.select_related("space", "agent__tenant")
    return list(indexes.filter(state=state).order_by("pk"))
