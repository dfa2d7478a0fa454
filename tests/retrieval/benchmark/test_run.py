"""The benchmark runs whole, says what it promises to say, and leaves nothing behind."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from rich.console import Console

from dolphy import embedding
from ingestion.analyse import analyse_passage
from ingestion.graph import EXACT_UP_TO
from ingestion.models import IndexedPassage
from retrieval.benchmark import run
from retrieval.benchmark.ingesting import beside_embedder
from retrieval.benchmark.loading import scratch
from retrieval.benchmark.loading.invent import Inventor
from retrieval.benchmark.measure import Operation, in_turns
from retrieval.benchmark.show import notes, tables
from retrieval.benchmark.size import Size
from tenants.models import Tenant


def test_operations_are_called_in_turns_and_seldom_ones_seldom() -> None:
    called: list[tuple[str, int]] = []

    def note(name: str) -> Operation:
        return lambda number: called.append((name, number))

    taken = in_turns({"a": note("a"), "b": note("b")}, 4, lambda done, total: None, seldom={"b": 2})
    counted = [one for one in called if one[1] >= 0]
    assert counted == [("a", 0), ("b", 0), ("a", 1), ("a", 2), ("b", 2), ("a", 3)]
    assert 0 <= taken["a"].p50 <= taken["a"].p95


def test_what_is_invented_is_the_same_for_the_same_seed() -> None:
    one, two, other = Inventor(16, seed=3), Inventor(16, seed=3), Inventor(16, seed=4)
    assert one.passage() == two.passage() != other.passage()
    assert one.question() == two.question()
    assert np.array_equal(one.vectors(20), two.vectors(20))


def test_invented_vectors_have_unit_length_and_invented_lexemes_are_the_analysers() -> None:
    inventor = Inventor(32)
    vectors = inventor.vectors(50)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    near = inventor.near(vectors)
    assert ((near @ vectors.T).argmax(axis=1) == np.arange(50)).mean() > 0.9
    passage = inventor.passage()
    assert set(analyse_passage(passage.text).plain) == set(passage.lexemes.plain)


def test_the_sizes_fill_the_table_exactly_or_nearly() -> None:
    small, large = Size(10_000, 8), Size(200_000, 40)
    assert small.measured() == [30, 300, 1_000, 3_000, 5_000]
    assert large.measured()[-1] == 100_000
    for size in (small, large, Size(1_000_000)):
        agents = [*size.measured(), *size.others()]
        assert size.agents in (0, len(agents))
        assert 0 <= size.passages - sum(agents) < len(agents)
    assert Size(100, 1).others() == []


def test_other_agents_are_small_unless_their_number_is_given() -> None:
    million = Size(1_000_000)
    assert million.measured()[-1] == 300_000
    assert max(million.others()) <= EXACT_UP_TO < max(Size(1_000_000, 20).others())


@pytest.fixture(autouse=True)
def fewer_sentences(monkeypatch: Any) -> None:
    monkeypatch.setattr("retrieval.benchmark.loading.invent.SENTENCES", 500)


@contextmanager
def no_web(agent: Any, questions: Sequence[str]) -> Iterator[Operation]:
    yield lambda number: None


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_small_run_has_every_figure_and_leaves_nothing_behind(
    monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.setattr(run, "search_over_http", no_web)
    monkeypatch.setattr(beside_embedder, "PARAGRAPHS", 2)
    monkeypatch.setattr("ingestion.graph.EXACT_UP_TO", 250)
    killed = Tenant.objects.create(slug=f"{scratch.PREFIX}killed", name=scratch.NAME)
    left = tmp_path / f"dolphy-{killed.slug}-x"
    left.mkdir()
    monkeypatch.setattr("retrieval.benchmark.ingesting.ground.gettempdir", lambda: str(tmp_path))
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE DATABASE "{killed.slug}"')
    out = StringIO()
    call_command("benchmark", passages=400, agents=4, rounds=4, documents=1, json="-", stdout=out)
    found = json.loads(out.getvalue())
    assert set(found["timings_ms"]) == {
        "select_1", "own_index_top40", "vector_top40", "statement", "warm_retrieve",
        "cold_retrieve", "http_search",
    }  # fmt: skip
    assert all(set(taken) == {"p50", "p95"} for taken in found["timings_ms"].values())
    assert {"passages_per_s", "embedder_alone_passages_per_s"} <= set(found["ingestion"])
    assert 0 < found["ingestion"]["embedder_busy"] <= 1
    assert "embed_passages" not in vars(embedding.configured())  # the stopwatch is gone again
    assert sum(found["table_holds"].values()) == found["table"]
    assert found["table_holds"]["measured_agents"] == 330
    agents = {row["passages"]: row for row in found["agents"]}
    assert [(n, row["pool"], row["route"]) for n, row in agents.items()] == [
        (30, 30, "exact"),
        (300, 40, "graph"),
    ]
    assert agents[30]["recall_at_40"] == 1 and agents[300]["recall_at_40"] > 0.9
    for row in agents.values():
        for name in ("own_index_top40", "vector_top40", "lexical_top40"):
            assert set(row[name]) == {"p50", "p95"}
            assert row["processor_ms"][name]["client"] > 0
        ratios = row["ratios"]
        of_bare = row["p50_ms"] / row["own_index_top40"]["p50"]
        assert ratios["statement_to_own_index_top40_p50"] == pytest.approx(of_bare, abs=0.01)
        assert row["processor_ms"]["statement"]["client"] > 0
    assert found["table"] >= 400
    assert not Tenant.objects.filter(pk=killed.pk).exists() and not left.exists()
    assert not Tenant.objects.exists() and not IndexedPassage.objects.exists()
    printed = StringIO()
    for note in notes(found):
        printed.write(note)
    for table in tables(found):
        Console(file=printed, width=140).print(table)
    for words in (
        "own_index_top40",
        "vector_top40",
        "recall@40",
        "lexical, common words",
        "as the table grows",
        "embedder busy",
        "--rounds 4",
    ):
        assert words in printed.getvalue()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_class WHERE relname LIKE '%passage_graph%' "
            "OR relname LIKE 'own_index%'"
        )
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM pg_database WHERE datname LIKE 'benchmark-%'")
        assert cursor.fetchone() == (0,)
        cursor.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'benchmark-%'")
        assert cursor.fetchone() == (0,)


def of_a_run(size: Size, ingested: int = 64, other_tenants: int = 477) -> dict[str, Any]:
    """As much of a run's figures as the notes read."""
    own = sum(size.measured()) + sum(size.others()) + ingested
    return {
        "asked_for": {"passages": size.passages, "agents": size.agents, "rounds": size.rounds},
        "table": own + other_tenants,
        "table_holds": run._holds(size, own + other_tenants, own),
        "agents": [{"passages": passages} for passages in size.measured()],
        "timed_seldom": run.SELDOM,
    }


def test_a_table_that_is_not_as_large_as_was_asked_for_says_why() -> None:
    holds, short = notes(of_a_run(Size(3_000, 3)))
    assert "1,871 passages: 1,330 of the 3 measured agents, 0 of other agents" in holds
    assert "64 that it ingested, 477 of other tenants" in holds
    assert "3,000 were asked for" in short and "remaining 1,670" in short
    assert len(list(notes(of_a_run(Size(10_000, 8))))) == 1


def test_few_rounds_are_warned_of() -> None:
    _, warning = notes(of_a_run(Size(10_000, 8, rounds=20)))
    assert "--rounds 20" in warning and "cold_retrieve was timed 3 times" in warning


@pytest.mark.parametrize("wrong", [{"passages": 99}, {"agents": -1}, {"rounds": 0}])
def test_sizes_that_measure_nothing_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(CommandError):
        call_command("benchmark", **wrong)
