"""The pause between two requests to one server, whoever makes them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

from dolphy.cache import valkey
from ingestion.crawl import politeness
from ingestion.crawl.crawl import crawl
from ingestion.crawl.models import Sync
from ingestion.crawl.politeness import rest, turn, wait_for_turn
from ingestion.errors import BrokerUnavailable
from tests.factories import World
from tests.ingestion.crawl.run import finish, website
from tests.ingestion.crawl.site import Site, html, status


@pytest.fixture
def host() -> Iterator[str]:
    name = f"{uuid4()}.example"
    yield name
    valkey().delete(f"crawl:pause:{name}")


def test_one_may_ask_and_the_next_one_waits(host: str) -> None:
    assert turn(host, 30) == 0
    assert 20 < turn(host, 30) <= 30
    assert turn(f"other.{host}", 0.001) == 0


def test_without_a_pause_nobody_waits_but_for_a_server_in_trouble(host: str) -> None:
    assert turn(host, 0) == turn(host, 0) == 0
    rest(host, 30)
    assert 20 < turn(host, 0) <= 30


def test_the_longer_rest_counts_and_none_is_longer_than_the_longest(host: str) -> None:
    rest(host, 200)
    rest(host, 1)
    assert turn(host, 0) > 150
    rest(host, 10_000)
    assert turn(host, 0) <= politeness.LONGEST_REST


def test_a_short_pause_is_sat_through_and_a_long_one_is_not(host: str) -> None:
    turn(host, 0.05)
    assert wait_for_turn(host, 0.05, patience=20) == 0
    rest(host, 30)
    slept: list[float] = []
    assert wait_for_turn(host, 0.05, patience=1, sleep=slept.append) > 20
    assert slept == []


def test_every_request_to_a_website_takes_a_turn_of_its_pause(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def noted(host: str, delay: float) -> float:
        wait = turn(host, delay)
        if wait == 0:
            pauses.append(delay)
        return wait

    monkeypatch.setattr(politeness, "turn", noted)
    site.pages["/"] = html("Baş", "Metin.", links=("/a", "/b"))
    site.pages["/a"], site.pages["/b"] = html("A", "Bir."), html("B", "İki.")
    assert finish(website(acme, site, delay=0.05)).added == 3
    assert set(pauses) == {0.05}
    assert len(pauses) >= 3


def test_a_server_that_asks_for_a_rest_gets_it(acme: World, site: Site) -> None:
    site.pages["/"] = html("Baş", "Metin.", links=("/a", "/b"))
    site.pages["/a"] = status(429, Retry_After="60")
    site.pages["/b"] = html("B", "İki.")
    made = website(acme, site)
    wait = crawl(made.syncs.get().pk)
    while wait is not None and wait < 1:  # the pause between two requests, not the rest asked for
        wait = crawl(made.syncs.get().pk)
    assert wait is not None
    assert 30 < wait <= 60
    assert made.syncs.get().state == Sync.State.QUEUED


def test_without_the_shared_pause_no_server_is_asked(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from redis.exceptions import ConnectionError as Away

    class Gone:
        def __getattr__(self, name: str) -> Any:
            raise Away

    site.pages["/"] = html("Baş", "Metin.")
    made = website(acme, site)
    with monkeypatch.context() as patch:
        patch.setattr(politeness, "valkey", Gone)
        with pytest.raises(BrokerUnavailable):
            turn("a.example", 0)
        assert crawl(made.syncs.get().pk) == 15
        sync = made.syncs.get()
        assert (sync.state, sync.error_code) == (Sync.State.QUEUED, "broker_unavailable")
        assert site.asked("/") == 0
    assert finish(made).state == Sync.State.COMPLETE
