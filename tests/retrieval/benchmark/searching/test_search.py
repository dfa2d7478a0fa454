"""The operations that are timed bring what the statement brings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ingestion.graph import build
from ingestion.models import Index
from retrieval.benchmark.searching.search import lexical_query
from retrieval.benchmark.searching.subject import Question, Subject
from retrieval.statement import find
from tenants.models import Tenant
from tests.retrieval.pools import Pool, drop_graphs, make_index, store


@pytest.fixture
def index(transactional_db: None) -> Iterator[Index]:
    yield make_index(Tenant.objects.create(slug="acme", name="Acme"), "one")
    drop_graphs()


@pytest.mark.parametrize("with_graph", [False, True])
def test_the_lexical_branch_alone_brings_its_part_of_the_pool(
    with_graph: bool, index: Index
) -> None:
    pool = Pool(3)
    store(index, pool.rows(120, 6))
    if with_graph:
        build(index)
    asked = Question("", pool.roots(5), np.array(pool.vector(), np.float32))
    of = Subject(index.agent, index, None, (), (asked,))  # type: ignore[arg-type]
    rows = find(index, asked.roots, asked.vector, of.settings).rows
    brought = {row.passage_id for row in lexical_query(of, of.common)(0)}  # type: ignore[attr-defined]
    assert brought == {row.passage_id for row in rows if row.lexical_rank is not None} != set()
