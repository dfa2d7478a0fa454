"""The statement's plan: which index it reads, whatever PostgreSQL knows or does not know yet.

One prepared plan serves all small agents for the life of a connection, so it must be right when it
is made: before the first ANALYZE as well as after it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from django.db import connection

from ingestion.graph import build, name_of
from ingestion.models import Index
from retrieval.statement import find
from retrieval.vocabulary import Vocabulary
from tenants.models import Tenant
from tests.retrieval.contract import contract
from tests.retrieval.pools import Pool, analyze, drop_graphs, make_index, settings, store

TABLE = "ingestion_indexedpassage"


def plan_nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", ()):
        yield from plan_nodes(child)


def plan(index: Index) -> list[dict[str, Any]]:
    """Every node of the plan that this index's searches run by, prepared as they prepare it."""
    find(index, (), np.array(Pool(0).vector(), np.float32), settings())
    return newest_plan()


def newest_plan() -> list[dict[str, Any]]:
    """Every node of the plan that was prepared last."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, cardinality(parameter_types) FROM pg_prepared_statements "
            "ORDER BY prepare_time DESC LIMIT 1"
        )
        name, parameters = cursor.fetchone()
        nulls = ", ".join(["NULL"] * parameters)
        cursor.execute(f"EXPLAIN (FORMAT JSON) EXECUTE {name} ({nulls})")
        (found,) = cursor.fetchone()
    return list(plan_nodes((json.loads(found) if isinstance(found, str) else found)[0]["Plan"]))


def used_indexes(nodes: list[dict[str, Any]]) -> set[str]:
    return {node["Index Name"] for node in nodes if "Index Name" in node}


def sequential(nodes: list[dict[str, Any]]) -> list[str]:
    return [node["Relation Name"] for node in nodes if node["Node Type"] == "Seq Scan"]


@pytest.fixture
def two_agents(transactional_db: None) -> Iterator[tuple[Index, Index]]:
    """A small agent beside a larger one that has a graph of its own."""
    acme = Tenant.objects.create(slug="acme", name="Acme")
    small, large = make_index(acme, "small"), make_index(acme, "large")
    store(small, Pool(1).rows(30, 3))
    store(large, Pool(2).rows(300, 12))
    build(large)
    yield small, large
    drop_graphs()


@pytest.mark.parametrize("analyzed", [False, True])
def test_the_plan_reads_the_intended_indexes(
    analyzed: bool, two_agents: tuple[Index, Index]
) -> None:
    if analyzed:
        analyze()
    exact, graph = (plan(index) for index in two_agents)
    for nodes in (exact, graph):
        assert sequential(nodes) == []
        lookups = [
            n for n in nodes if n["Node Type"] == "Bitmap Index Scan" and "@@" in n["Index Cond"]
        ]
        assert {n["Index Name"] for n in lookups} == {
            "indexed_passage_stemmed",
            "indexed_passage_plain",
        }
        assert not any(n["Node Type"] == "BitmapAnd" for n in nodes)
        common = [n for n in nodes if n.get("Relation Name") == "ingestion_commonlexeme"]
        assert [n["Index Cond"].count("lexeme") > 0 for n in common] == [True]
    assert name_of(two_agents[1]) not in used_indexes(exact)
    assert name_of(two_agents[1]) in used_indexes(graph)


def test_the_exact_scan_reads_the_rows_of_one_index_only(two_agents: tuple[Index, Index]) -> None:
    """Every way into the table is by index and key, by passage, or by lexeme."""
    nodes = plan(two_agents[0])
    for node in nodes:
        if node.get("Relation Name") == TABLE and node["Node Type"] == "Index Scan":
            assert "index_id" in node["Index Cond"] or "passage_id" in node["Index Cond"]
    ways = [n["Index Cond"] for n in nodes if n["Node Type"] == "Bitmap Index Scan"]
    assert all("index_id" in way or "@@" in way for way in ways)


def test_a_graph_answers_what_an_exact_scan_answers(two_agents: tuple[Index, Index]) -> None:
    _, large = two_agents
    rows, pool = Pool(2).rows(300, 12), Pool(3)
    for _ in range(5):
        question, roots = pool.vector(), pool.roots(4)
        found = find(large, roots, np.array(question, np.float32), settings())
        assert found.route == "graph"
        expected = contract(rows, roots, question, settings())
        assert [(r.uri, r.position, r.verdict) for r in found.rows] == [
            (one.row.uri, one.row.position, one.verdict) for one in expected
        ]


def test_a_tiny_agents_pool_is_full_beside_a_huge_one(two_agents: tuple[Index, Index]) -> None:
    small, _ = two_agents
    question = np.array(Pool(2).vector(), np.float32)
    assert find(small, (), question, settings()).semantic == 30


def test_all_small_agents_share_one_prepared_statement(two_agents: tuple[Index, Index]) -> None:
    tenant = Tenant.objects.get(slug="acme")
    pool = Pool(4)
    indexes = [make_index(tenant, f"small-{n}") for n in range(3)]
    for index in indexes:
        store(index, pool.rows(10, 2))
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_prepared_statements")
        (before,) = cursor.fetchone()
        for index in indexes:
            for roots in (0, 3):
                index.passages += 40_000 * roots  # numbers of any size are one type
                find(index, pool.roots(roots), np.array(pool.vector(), np.float32), settings())
        cursor.execute("SELECT count(*) FROM pg_prepared_statements WHERE generic_plans > 0")
        assert cursor.fetchone()[0] - before <= 2  # an array is typed by what it holds


def test_a_graph_with_many_disabled_documents_fills_its_pool(
    two_agents: tuple[Index, Index],
) -> None:
    """Nearly all that the graph meets is disabled; the scan goes on, or an exact one takes over."""
    tenant = Tenant.objects.get(slug="acme")
    index = make_index(tenant, "mostly-disabled")
    rows = Pool(5).rows(600, 30, disabled=0.9)
    store(index, rows)
    build(index)
    assert 0 < index.passages < 120
    found = find(index, (), np.array(Pool(6).vector(), np.float32), settings())
    assert found.semantic == min(40, index.passages)


def test_a_graph_that_ends_early_gives_way_to_an_exact_scan(
    two_agents: tuple[Index, Index],
) -> None:
    _, large = two_agents
    with connection.cursor() as cursor:
        cursor.execute("SET hnsw.ef_search = 5")
        cursor.execute("SET hnsw.iterative_scan = off")
        try:
            pool = Pool(7)
            question = pool.vector()
            found = find(large, (), np.array(question, np.float32), settings())
        finally:
            cursor.execute("RESET hnsw.ef_search")
            cursor.execute("RESET hnsw.iterative_scan")
    assert found.route == "exact after underfill"
    expected = contract(Pool(2).rows(300, 12), (), question, settings())
    assert [(r.uri, r.position) for r in found.rows] == [
        (one.row.uri, one.row.position) for one in expected
    ]


@pytest.mark.parametrize("analyzed", [False, True])
def test_the_vocabulary_is_read_by_its_words(
    analyzed: bool, two_agents: tuple[Index, Index]
) -> None:
    if analyzed:
        analyze()
    words, roots = Vocabulary(two_agents[1]), Pool(3).roots(2)
    for look, expected in (
        (lambda: words.known(["kargo"]), "word_by_folded_form"),
        (lambda: words.held(["kargo"]), "word_by_folded_form"),
        (lambda: words.found(roots), "indexed_passage_stemmed"),
    ):
        look()
        nodes = newest_plan()
        assert expected in used_indexes(nodes)
        assert sequential(nodes) == []
