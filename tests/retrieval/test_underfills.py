"""Searches that met an under-filled branch are counted, by agent."""

from __future__ import annotations

from typing import Any

import pytest
from redis.exceptions import ConnectionError as Refused

from dolphy.cache import valkey
from ingestion.models import Index
from retrieval import underfills
from retrieval.retrieve import retrieve
from tests.factories import QUESTION, World


@pytest.fixture(autouse=True)
def nothing_counted() -> None:
    valkey().delete("retrieval:underfills")


def trace(*, route: str = "graph", underfilled: bool = False) -> dict[str, Any]:
    return {"route": route, "pool": {"underfilled": underfilled}}


def test_a_search_with_a_full_pool_counts_nothing(acme: World) -> None:
    found = retrieve(acme.agent, QUESTION)
    assert found.trace["pool"]["underfilled"] is False and found.trace["route"] == "exact"
    assert underfills.report() == ()


def test_a_refilled_search_and_a_short_one_are_told_apart(acme: World, globex: World) -> None:
    underfills.count(acme.agent, trace(route=underfills.REFILLED))
    underfills.count(acme.agent, trace(route=underfills.REFILLED))
    underfills.count(globex.agent, trace(route=underfills.REFILLED, underfilled=True))
    assert underfills.report() == (
        underfills.Underfills(globex.agent.pk, refilled=0, short=1),
        underfills.Underfills(acme.agent.pk, refilled=2, short=0),
    )


def test_an_index_that_counts_wrongly_shows(acme: World) -> None:
    Index.objects.filter(pk=acme.index.pk).update(passages=7)
    found = retrieve(acme.agent, QUESTION)
    assert found.trace["pool"] | {"candidates": 0, "lexical": 0} == {
        "candidates": 0,
        "lexical": 0,
        "semantic": 2,
        "available": 7,
        "underfilled": True,
    }
    assert [one.short for one in underfills.report()] == [1]


def test_without_a_cache_the_search_goes_on(acme: World, monkeypatch: Any) -> None:
    def away() -> None:
        raise Refused

    monkeypatch.setattr("retrieval.underfills.valkey", away)
    underfills.count(acme.agent, trace(underfilled=True))
