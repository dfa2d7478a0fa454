"""Answers that no server should give: each ends its own page at most, never the sync."""

from __future__ import annotations

import gzip
from typing import Any

import pytest

from ingestion.crawl import crawl as crawling
from ingestion.crawl import finish as finishing
from ingestion.crawl import page as pages
from ingestion.crawl import robots, settle
from ingestion.crawl.fetch import Fetched
from ingestion.crawl.models import Page, Sync
from ingestion.crawl.robots import Robots
from ingestion.models import Document
from tests.factories import World
from tests.ingestion.crawl.run import code, crawled, documents, finish
from tests.ingestion.crawl.site import Answer, Request, Site, html, redirect, with_headers

State = Sync.State
BODY = html("Konu", "Bu sayfa iade süresini anlatır.")


@pytest.fixture
def two(site: Site) -> Site:
    """A start that links to /odd, and to /good that is as it should be."""
    site.pages["/"] = html("Başlangıç", "Hoş geldiniz.", links=("/odd", "/good"))
    site.pages["/good"] = html("İyi", "Bu sayfada bir şey yok.")
    return site


# Addresses that are none


@pytest.mark.parametrize("to", ["http://[::1/", "http://[", "http://a]/", "http://\x80[/"])
def test_a_redirect_to_no_address_ends_its_page(acme: World, two: Site, to: str) -> None:
    two.pages["/odd"] = redirect(to)
    sync = crawled(acme, two)
    assert (sync.state, sync.reasons) == (State.PARTIAL, ["pages_failed"])
    assert sync.failed == {"broken_response": 1}
    assert documents(sync.website, two) == {"/", "/good"}


@pytest.mark.parametrize("to", ["http://[::1/", "http://["])
def test_a_robots_txt_that_redirects_to_no_address_is_none(acme: World, two: Site, to: str) -> None:
    two.pages["/robots.txt"] = redirect(to)
    assert documents(crawled(acme, two).website, two) == {"/", "/good"}


def test_links_of_all_kinds_that_are_no_addresses_are_passed_over(acme: World, two: Site) -> None:
    bad = "http://[::1"
    head = (
        f'<base href="{bad}"><link rel="canonical" href="{bad}"><link rel="next" href="{bad}">'
        f'<meta http-equiv="refresh" content="0;url={bad}">'
    )
    page = html(
        "Tuhaf", "Bu sayfanın bağları bozuk.", links=(bad, "//[x]/", "http://a]/"), head=head
    )
    two.pages["/odd"] = with_headers(page, Link=f'<{bad}>; rel="canonical"')
    two.pages["/robots.txt"] = f"Sitemap: {bad}\nSitemap: {two.url('/map.xml')}\n"
    two.pages["/map.xml"] = f"<urlset><url><loc>{bad}</loc></url></urlset>"
    sync = crawled(acme, two)
    assert (sync.state, sync.failed) == (State.COMPLETE, {})
    assert documents(sync.website, two) == {"/", "/good", "/odd"}


def test_of_endless_links_the_first_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []
    real = pages.normalised

    def normalised(url: str, base: str = "") -> str | None:
        looked.append(url)
        return real(url, base)

    monkeypatch.setattr(pages, "normalised", normalised)
    monkeypatch.setattr(pages, "MOST_LINKS", 3)
    links = tuple(f"/{number // 2}" for number in range(1000))  # each of them twice
    head = pages.read_head(html("Çok", links=links).encode(), "http://a.example/", {})
    assert head.links == ("http://a.example/0", "http://a.example/1", "http://a.example/2")
    assert len(looked) < 10


# Faults of our own


def fails(*args: Any, **options: Any) -> Any:
    raise RecursionError("for the test")


def test_a_fault_while_a_page_is_read_ends_that_page(
    acme: World, two: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.pages["/odd"] = BODY
    real = crawling.read

    def read(fetched: Fetched) -> Any:
        return fails() if fetched.url.endswith("/odd") else real(fetched)

    monkeypatch.setattr(crawling, "read", read)
    ends_with_one_fault(acme, two)


def test_a_fault_while_a_page_is_settled_undoes_and_ends_that_page(
    acme: World, two: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.pages["/odd"] = html("Tuhaf", "Bu sayfa bağlar.", links=("/behind",))
    real = settle._content

    def content(walk: Any, page: Page, found: Any) -> None:
        real(walk, page, found)
        if page.url.endswith("/odd"):
            fails()

    monkeypatch.setattr(settle, "_content", content)
    sync = ends_with_one_fault(acme, two)
    assert (sync.found, sync.added) == (3, 2)
    monkeypatch.setattr(settle, "_content", real)
    again = finish(sync.website)
    assert (again.found, again.added) == (4, 1)
    assert code(sync.website, two, "/behind") == "http_404"


def test_a_value_that_the_database_refuses_ends_its_page(
    acme: World, two: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.pages["/odd"] = BODY
    real = settle._content

    def content(walk: Any, page: Page, found: Any) -> None:
        real(walk, page, found)
        if page.url.endswith("/odd"):
            page.charset = "x" * 41

    monkeypatch.setattr(settle, "_content", content)
    ends_with_one_fault(acme, two)


def test_a_fault_in_the_rules_of_robots_txt_ends_that_page(
    acme: World, two: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.pages["/odd"] = BODY
    real = Robots.allows
    monkeypatch.setattr(
        Robots, "allows", lambda self, url: fails() if url.endswith("/odd") else real(self, url)
    )
    ends_with_one_fault(acme, two)


def test_a_fault_while_a_page_is_delivered_ends_that_page(
    acme: World, two: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    two.pages["/odd"] = BODY
    real = finishing.deliver_held

    def deliver(walk: Any, page: Page) -> None:
        fails() if page.url.endswith("/odd") else real(walk, page)

    monkeypatch.setattr(finishing, "deliver_held", deliver)
    ends_with_one_fault(acme, two)


def test_a_fault_while_repeated_blocks_are_shown_costs_their_text_alone(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = tuple(f"/p{number}" for number in range(6))
    site.pages["/"] = html("Başlangıç", "Hoş geldiniz.", links=links)
    for path in links:
        site.pages[path] = html(f"Konu {path}", f"Bu sayfa {path} içindir.", "Hep aynı son satır.")
    monkeypatch.setattr(finishing, "parse", fails)
    sync = crawled(acme, site)
    assert (sync.state, sync.failed, sync.added) == (State.COMPLETE, {}, 7)
    sync.website.refresh_from_db()
    assert [(one["text"], one["pages"]) for one in sync.website.boilerplate] == [("", 6)]


def ends_with_one_fault(acme: World, site: Site) -> Sync:
    sync = crawled(acme, site)
    assert (sync.state, sync.reasons) == (State.PARTIAL, ["pages_failed"])
    assert sync.failed == {"error": 1}
    assert code(sync.website, site, "/odd") == "error"
    assert documents(sync.website, site) == {"/", "/good"}
    return sync


# Not modified, though nobody asked whether it was


def test_an_unchanged_page_that_was_never_read_is_a_failure(acme: World, two: Site) -> None:
    two.pages["/odd"] = lambda request: request.answer(304)
    sync = crawled(acme, two)
    assert (sync.state, sync.unchanged, sync.failed) == (State.PARTIAL, 0, {"http_304": 1})
    two.pages["/odd"] = BODY
    again = finish(sync.website)
    assert (again.state, again.added) == (State.COMPLETE, 1)


def test_a_start_that_was_never_read_is_not_unchanged(acme: World, site: Site) -> None:
    site.pages["/"] = lambda request: request.answer(304)
    sync = crawled(acme, site)
    assert (sync.state, sync.failed) == (State.FAILED, {"http_304": 1})
    assert "(http_304)" in sync.error


# Headers that come twice


def twice(name: str, *values: str) -> Answer:
    def answer(request: Request) -> None:
        data = BODY.encode()
        request.send_response(200)
        for value in values:
            request.send_header(name, value)
        request.send_header("Content-Type", "text/html; charset=utf-8")
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)

    return answer


@pytest.mark.parametrize(
    "values",
    [
        ("noindex", "otherbot: nofollow"),
        ("otherbot: nofollow", "noindex"),
        ("max-snippet: 20", "dolphybot: noindex", "nofollow"),
    ],
)
def test_each_wish_of_the_server_counts(acme: World, two: Site, values: tuple[str, ...]) -> None:
    two.pages["/odd"] = twice("X-Robots-Tag", *values)
    sync = crawled(acme, two)
    assert sync.skipped == {"noindex": 1}
    assert documents(sync.website, two) == {"/", "/good"}


def test_a_wish_to_another_crawler_does_not_spread_to_the_next_header(
    acme: World, two: Site
) -> None:
    two.pages["/odd"] = twice("X-Robots-Tag", "all", "otherbot: noindex", "nofollow")
    assert "/odd" in documents(crawled(acme, two).website, two)


def test_each_link_header_counts(acme: World, two: Site) -> None:
    two.pages["/odd"] = twice("Link", '</own>; rel="canonical"', '</a.css>; rel="preload"')
    two.pages["/own"] = BODY
    sync = crawled(acme, two)
    assert documents(sync.website, two) == {"/", "/good", "/own"}
    assert sync.skipped == {"canonical": 1}


# robots.txt of any length


@pytest.mark.parametrize("packed", [False, True])
def test_of_a_long_robots_txt_the_beginning_counts(
    acme: World, two: Site, monkeypatch: pytest.MonkeyPatch, packed: bool
) -> None:
    monkeypatch.setattr(robots, "MOST_BYTES", 200_005)
    rules = b"User-agent: *\nDisallow: /odd\n".ljust(200_000, b"#") + b"\nDisallow: /good\n" * 9000
    headers = {"Content_Type": "text/plain"} | ({"Content_Encoding": "gzip"} if packed else {})
    two.pages["/robots.txt"] = with_headers(gzip.compress(rules) if packed else rules, **headers)
    two.pages["/odd"] = BODY
    sync = crawled(acme, two)
    # The last line, cut to `Disa`, says nothing; nor does one cut to `Disallow: /`.
    assert (sync.state, sync.skipped) == (State.COMPLETE, {"robots": 1})
    assert documents(sync.website, two) == {"/", "/good"}


@pytest.mark.parametrize("most", range(30, 48))
def test_a_line_that_is_cut_off_forbids_nothing(
    site: Site, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(robots, "MOST_BYTES", most)
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /odd\nDisallow: /goods\nDisallow: /x\n"
    rules = robots.ask(crawling.Fetcher(), site.url(""))
    assert rules.allows(site.url("/good"))
    assert not rules.allows(site.url("/odd"))


def test_a_robots_txt_without_end_is_read_as_far_as_it_counts(acme: World, two: Site) -> None:
    def endless(request: Request) -> None:
        request.raw(b"HTTP/1.1 200 OK\r\n\r\nUser-agent: *\nDisallow: /odd\n")
        while True:
            request.raw(b"# and so on\n" * 5000)

    two.pages["/robots.txt"] = endless
    two.pages["/odd"] = BODY
    assert documents(crawled(acme, two).website, two) == {"/", "/good"}


# Content-Encoding


@pytest.mark.parametrize("word", ["utf-8", "none", "UTF8", "identity, identity", "iso-8859-9"])
def test_a_packing_that_is_none_is_read_as_it_is(acme: World, two: Site, word: str) -> None:
    two.pages["/odd"] = with_headers(BODY, Content_Encoding=word)
    sync = crawled(acme, two)
    assert sync.failed == {}
    assert Document.objects.filter(uri=two.url("/odd")).exists()


def test_a_packing_beside_one_that_is_none_is_unpacked(acme: World, two: Site) -> None:
    two.pages["/odd"] = with_headers(gzip.compress(BODY.encode()), Content_Encoding="utf-8, gzip")
    assert crawled(acme, two).failed == {}
