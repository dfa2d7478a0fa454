"""When most of a website seems to be gone, the next sync is to say so as well."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion.crawl.models import Sync
from tests.factories import World
from tests.ingestion.crawl.run import crawled, documents, finish
from tests.ingestion.crawl.site import Site, html, redirect, status

State = Sync.State
PATHS = ("/p0", "/p1", "/p2")


@pytest.fixture
def four(site: Site) -> Site:
    """A start and three pages."""
    site.pages["/"] = html("Başlangıç", "Yardım merkezine hoş geldiniz.", links=PATHS)
    for path in PATHS:
        site.pages[path] = html(f"Sayfa {path}", f"Burada {path} anlatılır.")
    return site


def login(site: Site) -> None:
    """Every page asks who is there."""
    site.pages |= dict.fromkeys(["/", *PATHS], redirect("/login"))
    site.pages["/login"] = html("Giriş", "Lütfen giriş yapın.")


def maintenance(site: Site) -> None:
    site.pages["/"] = html("Bakım", "Sitemiz bakımdadır.")


@pytest.mark.parametrize("what", [login, maintenance])
def test_a_start_that_turns_into_a_notice_removes_nothing(
    acme: World, four: Site, what: Any
) -> None:
    sync = crawled(acme, four)
    start = four.pages["/"]
    what(four)
    again = finish(sync.website)
    assert (again.state, again.reasons, again.gone) == (State.PARTIAL, ["too_many_gone"], 0)
    assert documents(sync.website, four) >= {"/", *PATHS}
    four.pages["/"] = start
    for path in PATHS:
        four.pages[path] = html(f"Sayfa {path}", f"Burada {path} anlatılır.")
    healed = finish(sync.website)
    assert healed.state == State.COMPLETE
    assert documents(sync.website, four) == {"/", *PATHS}


@pytest.mark.parametrize("what, left", [(login, {"/login"}), (maintenance, {"/"})])
def test_the_second_time_it_is_believed(acme: World, four: Site, what: Any, left: set[str]) -> None:
    sync = crawled(acme, four)
    what(four)
    assert finish(sync.website).state == State.PARTIAL
    last = finish(sync.website)
    assert (last.state, last.gone) == (State.COMPLETE, 5 - len(left) - (left == {"/"}))
    assert documents(sync.website, four) == left


def test_a_sync_that_saw_less_in_between_confirms_nothing(acme: World, four: Site) -> None:
    sync = crawled(acme, four)
    maintenance(four)
    assert finish(sync.website).reasons == ["too_many_gone"]
    four.pages["/"] = html("Bakım", "Sitemiz bakımdadır.", links=("/hata",))
    four.pages["/hata"] = status(403)
    assert finish(sync.website).reasons == ["pages_failed"]
    maintenance(four)
    assert finish(sync.website).reasons == ["too_many_gone"]
    assert finish(sync.website).gone == 3


def test_others_than_those_that_were_missed_are_not_confirmed(acme: World, four: Site) -> None:
    sync = crawled(acme, four)
    maintenance(four)
    four.pages["/"] = html("Başlangıç", "Yarım.", links=("/p0",))  # two of four are gone: no doubt
    more = tuple(f"/q{number}" for number in range(3))
    four.pages |= {path: html(f"Sayfa {path}", f"Burada {path} anlatılır.") for path in more}
    assert finish(sync.website).gone == 2
    four.pages["/"] = html("Başlangıç", "Çok.", links=("/p0", *more))
    finish(sync.website)
    four.pages["/"] = html("Başlangıç", "Çok az.", links=("/p0",))
    assert finish(sync.website).reasons == ["too_many_gone"]
    four.pages["/"] = html("Başlangıç", "Başka.", links=more)
    assert finish(sync.website).gone == 1  # /p0 alone, and the others are there
    four.pages["/"] = html("Başlangıç", "Hiçbiri.")
    assert finish(sync.website).reasons == ["too_many_gone"]


def test_what_somebody_excludes_goes_at_once(acme: World, four: Site) -> None:
    sync = crawled(acme, four)
    sync.website.exclude = ["/p*"]
    sync.website.save()
    again = finish(sync.website)
    assert (again.state, again.gone) == (State.COMPLETE, 3)
    assert documents(sync.website, four) == {"/"}
