"""A large index gets a graph of its own, and its statistics, by the system's own decision."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from ingestion import documents, graph
from ingestion.models import CommonLexeme, Index, IndexedPassage
from ingestion.swap import scoped
from ingestion.tasks import remove_retired_indexes
from tenants.models import Tenant
from tests.factories import World, make_document
from tests.retrieval.pools import Pool, drop_graphs, make_index, store


def graphs() -> dict[str, bool]:
    """The graphs that PostgreSQL has, and whether each is valid."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname, indisvalid FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid "
            "WHERE relname LIKE 'indexed_passage_graph_%'"
        )
        return dict(cursor.fetchall())


def of_size(passages: int, *, has_graph: bool = False, counted_at: int = 0) -> Index:
    return Index(passages=passages, has_graph=has_graph, passages_at_statistics=counted_at)


def test_an_index_grows_a_graph_and_keeps_it_for_a_while() -> None:
    assert not graph.wants_graph(of_size(graph.EXACT_UP_TO))
    assert graph.wants_graph(of_size(graph.EXACT_UP_TO + 1))
    assert graph.wants_graph(of_size(graph.GRAPH_DOWN_TO + 1, has_graph=True))
    assert not graph.wants_graph(of_size(graph.GRAPH_DOWN_TO, has_graph=True))
    assert graph.GRAPH_DOWN_TO < graph.EXACT_UP_TO


def test_statistics_are_taken_again_after_a_fifth_of_change() -> None:
    assert not graph.wants_statistics(of_size(graph.STATISTICS_FROM - 1))
    assert graph.wants_statistics(of_size(graph.STATISTICS_FROM))
    assert not graph.wants_statistics(of_size(1_200, counted_at=1_000))
    assert graph.wants_statistics(of_size(1_201, counted_at=1_000))
    assert graph.wants_statistics(of_size(799, counted_at=1_000))


@pytest.fixture
def index(transactional_db: None) -> Iterator[Index]:
    acme = Tenant.objects.create(slug="acme", name="Acme")
    index = make_index(acme, "help")
    store(index, Pool(1).rows(60, 6))
    yield index
    drop_graphs()


def test_fitting_builds_the_graph_and_drops_it_again(index: Index, monkeypatch: Any) -> None:
    monkeypatch.setattr(graph, "EXACT_UP_TO", 50)
    monkeypatch.setattr(graph, "GRAPH_DOWN_TO", 20)
    for _ in range(2):  # running twice changes nothing
        graph.fit_now(index)
        assert graphs() == {graph.name_of(index): True}
        assert Index.objects.get(pk=index.pk).has_graph
    Index.objects.filter(pk=index.pk).update(passages=20)
    for _ in range(2):
        graph.fit_now(index)
        assert graphs() == {}
        assert not Index.objects.get(pk=index.pk).has_graph


def test_a_broken_leftover_of_a_graph_is_replaced(index: Index) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            f"CREATE INDEX {graph.name_of(index)} ON ingestion_indexedpassage (position)"
        )
    graph.build(index)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_get_indexdef(%s::regclass)", [graph.name_of(index)])
        (definition,) = cursor.fetchone()
    assert "USING hnsw" in definition and graphs() == {graph.name_of(index): True}


def test_a_graph_holds_the_rows_of_its_own_index_only(index: Index) -> None:
    other = make_index(index.agent.tenant, "other")
    store(other, Pool(2).rows(40, 4))
    graph.build(index)
    graph.build(other)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT reltuples::int FROM pg_class WHERE relname = %s", [graph.name_of(other)]
        )
        assert cursor.fetchone() == (40,)


def test_statistics_count_the_common_lexemes_of_one_index(index: Index, monkeypatch: Any) -> None:
    monkeypatch.setattr("ingestion.statistics.COMMON_FROM", 5)
    monkeypatch.setattr(graph, "STATISTICS_FROM", 10)
    rows = Pool(1).rows(60, 6)
    store(make_index(index.agent.tenant, "other"), rows)
    graph.fit_now(index)
    counts: dict[str, int] = {}
    for kind in ("stemmed", "plain"):
        for lexeme in {word for row in rows for word in getattr(row, kind)}:
            holding = sum(lexeme in getattr(row, kind) for row in rows)
            counts[lexeme] = max(counts.get(lexeme, 0), holding)
    expected = {scoped(index.pk, word): n for word, n in counts.items() if n >= 5}
    kept = CommonLexeme.objects.filter(tenant=index.tenant_id, index=index)
    assert dict(kept.values_list("lexeme", "passages")) == expected
    assert not CommonLexeme.objects.exclude(index=index).exists()
    assert Index.objects.get(pk=index.pk).passages_at_statistics == 60


def test_the_graph_of_an_agent_that_is_gone_is_found_and_dropped(index: Index) -> None:
    other = make_index(index.agent.tenant, "other")
    graph.build(index)
    graph.build(other)
    assert graph.orphans() == []
    name = graph.name_of(other)
    Index.objects.filter(pk=other.pk).delete()
    assert graph.orphans() == [name]
    assert graph.drop_orphans() == 1
    assert graphs() == {graph.name_of(index): True}


def test_upkeep_drops_the_graphs_of_agents_that_are_gone(index: Index) -> None:
    other = make_index(index.agent.tenant, "other")
    graph.build(index)
    graph.build(other)
    other.agent.delete()
    remove_retired_indexes()
    assert graphs() == {graph.name_of(index): True}


def enabled_rows(index: Index) -> int:
    return IndexedPassage.objects.filter(
        tenant=index.tenant_id, index=index.pk, enabled=True
    ).count()


def test_the_count_of_enabled_passages_follows_every_change(acme: World) -> None:
    """The statement trusts it: by it the branches know how much there is to bring."""

    def counted() -> tuple[int, int]:
        return Index.objects.get(pk=acme.index.pk).passages, enabled_rows(acme.index)

    extra = make_document(acme.agent, "extra.md", ["bir", "iki", "üç"])
    assert counted() == (5, 5)
    documents.set_enabled(extra, False)
    documents.set_enabled(extra, False)
    assert counted() == (2, 2)
    documents.set_enabled(extra, True)
    assert counted() == (5, 5)
    documents.set_enabled(acme.document, False)
    documents.delete(acme.document)
    assert counted() == (3, 3)
    documents.delete(extra)
    assert counted() == (0, 0)
