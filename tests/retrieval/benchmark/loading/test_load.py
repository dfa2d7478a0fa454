"""What is loaded fast is what ingestion would have written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import psycopg
import pytest
from django.db import connection

from dolphy import embedding
from ingestion.analyse import analyse_passage
from ingestion.embed import text_key
from ingestion.indexes import index_for
from ingestion.models import Document, Index, IndexedPassage, Passage
from ingestion.swap import index_rows, tsvector
from retrieval.benchmark.loading import own_index
from retrieval.benchmark.loading.invent import Inventor
from retrieval.benchmark.loading.load import content, load, own, pooled
from retrieval.benchmark.loading.rows import Content, TsVector, TsVectorDumper
from retrieval.benchmark.loading.scratch import tenant
from tenants.models import Agent, Tenant

WIDTH = embedding.configured().space.dimensions


@pytest.fixture
def inventor(monkeypatch: Any) -> Inventor:
    monkeypatch.setattr("retrieval.benchmark.loading.invent.SENTENCES", 200)
    monkeypatch.setattr("retrieval.benchmark.loading.load.POOL", 30)
    monkeypatch.setattr("retrieval.benchmark.loading.load.BLOCK", 50)
    return Inventor(WIDTH)


@pytest.fixture
def owner(transactional_db: None) -> Iterator[Tenant]:
    with tenant() as owner:
        yield owner


def told_nobody(done: int, total: int) -> None:
    pass


@pytest.mark.django_db
@pytest.mark.parametrize("words", [["iade", "çay", "a+b", "o'nun", "zz"], []])
def test_a_binary_tsvector_is_what_postgresql_reads_from_text(words: list[str]) -> None:
    ours = TsVector.of(b"7:", sorted(word.encode() for word in words))
    connection.ensure_connection()
    with psycopg.RawCursor(connection.connection) as cursor:
        cursor.adapters.register_dumper(TsVector, TsVectorDumper)
        cursor.execute("SELECT $1::tsvector::text, $2::tsvector::text", [ours, tsvector(7, words)])
        read, theirs = cursor.fetchone() or ("", "?")
    assert read == theirs


def test_a_row_is_the_one_that_ingestion_writes(owner: Tenant, inventor: Inventor) -> None:
    vectors = load(owner, "help", 25, inventor, own(inventor), told_nobody)
    row = IndexedPassage.objects.select_related("passage").get(
        tenant=owner, position=3, uri__contains="0000020"
    )
    passage = Passage.objects.get(tenant=owner, pk=row.passage_id)
    agent = Agent.objects.create(tenant=owner, slug="other", name="Other", language="tr")
    index = index_for(agent)
    place = {"tenant_id": owner.pk, "agent_id": agent.pk}
    document = Document.objects.create(**place, uri=row.uri)
    copy = Passage.objects.create(
        **place, document=document, position=3, text=passage.text, tokens=150
    )
    lexemes = analyse_passage(passage.text)
    whole = [(copy.pk, 3, passage.text, text_key(passage.text), lexemes, vectors[23])]
    index_rows(document, index, whole)
    ours, theirs = (_as_text(key) for key in (row.passage_id, copy.pk))
    assert {name for name in ours if ours[name] != theirs[name]} == {
        "index_id", "passage_id", "agent_id", "document_id", "stemmed", "plain",
    }  # fmt: skip
    assert ours["plain"].replace(f"{row.index_id}:", f"{index.pk}:") == theirs["plain"]


def _as_text(passage: int) -> dict[str, str]:
    """A row's columns as PostgreSQL prints them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT * FROM (SELECT * FROM ingestion_indexedpassage WHERE passage_id = %s) AS row",
            [passage],
        )
        return {
            column.name: str(value)
            for column, value in zip(cursor.description, cursor.fetchone(), strict=True)
        }


def test_an_agent_has_as_many_passages_as_were_asked_for(owner: Tenant, inventor: Inventor) -> None:
    vectors = load(owner, "help", 130, inventor, own(inventor), told_nobody)
    index = Index.objects.get(tenant=owner)
    assert index.passages == Passage.objects.filter(tenant=owner).count() == 130
    assert IndexedPassage.objects.filter(tenant=owner, enabled=True).count() == 130
    documents = Document.objects.filter(tenant=owner)
    assert sum(documents.values_list("passage_count", flat=True)) == 130
    assert vectors.shape == (130, WIDTH)
    stored = IndexedPassage.objects.filter(tenant=owner).order_by("passage_id")
    found = np.array([row.vector for row in stored])
    assert np.allclose(found, vectors, atol=1e-3)


def test_vectors_to_ask_about_are_spread_over_the_whole_agent(
    owner: Tenant, inventor: Inventor, monkeypatch: Any
) -> None:
    monkeypatch.setattr("retrieval.benchmark.loading.load.ASKED_ABOUT", 10)
    vectors = load(owner, "help", 130, inventor, own(inventor), told_nobody)
    stored = IndexedPassage.objects.filter(tenant=owner).order_by("passage_id")
    every = [row.vector for row in stored][::13]
    assert np.allclose(vectors, every, atol=1e-3)


def test_others_draw_from_a_pool_that_is_made_once(inventor: Inventor) -> None:
    contents = pooled(inventor)
    drawn = [one.text for one in contents(200) + contents(200)]
    assert 20 < len(set(drawn)) <= 30


def test_content_is_sorted_as_postgresql_sorts_it(inventor: Inventor) -> None:
    one: Content = content(inventor.passage())
    assert list(one.stemmed) == sorted(one.stemmed) and len(set(one.plain)) == len(one.plain)


def test_the_yardstick_reads_an_index_of_one_agent_alone(owner: Tenant, inventor: Inventor) -> None:
    vectors = load(owner, "help", 130, inventor, own(inventor), told_nobody)
    load(owner, "other", 50, inventor, own(inventor), told_nobody)
    index = Index.objects.get(tenant=owner, passages=130)
    alone = own_index.make(owner, index)
    nearest = alone.nearest(vectors[7])
    ids = IndexedPassage.objects.filter(tenant=owner, index=index).order_by("passage_id")
    keys = list(ids.values_list("passage_id", flat=True))
    exact = [keys[n] for n in np.argsort(-(vectors @ vectors[7]))[:40]]
    assert nearest[0] == keys[7] and len(set(nearest) & set(exact)) >= 38
    with connection.cursor() as cursor:
        question = "[" + ",".join(map(str, vectors[7])) + "]"
        plan = alone.query.decode().replace("$1", f"'{question}'")
        cursor.execute(f"EXPLAIN {plan}")
        steps = "\n".join(line for (line,) in cursor)
    assert f"Index Scan using own_index_{index.pk}_vector_idx" in steps


@pytest.mark.django_db(transaction=True)
def test_nothing_is_left_when_a_run_breaks_off(inventor: Inventor) -> None:
    with pytest.raises(KeyboardInterrupt), tenant() as owner:
        load(owner, "help", 60, inventor, own(inventor), told_nobody)
        own_index.make(owner, Index.objects.get(tenant=owner))
        raise KeyboardInterrupt
    assert not Tenant.objects.filter(pk=owner.pk).exists()
    assert not Passage.objects.exists() and not IndexedPassage.objects.exists()
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_namespace WHERE nspname = %s", [owner.slug])
        assert cursor.fetchone() == (0,)
