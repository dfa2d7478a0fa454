"""Whole syncs of a small website that plays every trick."""

from __future__ import annotations

import gzip
from collections import Counter
from typing import Any

import pytest

from ingestion.crawl import crawl as crawling
from ingestion.crawl import normalise
from ingestion.crawl.errors import HostNotFound
from ingestion.crawl.fetch import Fetcher
from ingestion.crawl.models import Page, Sync, Website
from ingestion.ingest import ingest
from ingestion.models import Document, IngestionJob
from tests.factories import World, ingest_text
from tests.ingestion.crawl.run import code, crawled, documents, finish, website
from tests.ingestion.crawl.site import (
    Request,
    Site,
    html,
    redirect,
    status,
    with_etag,
    with_headers,
)

State = Sync.State


def text_of(number: int) -> str:
    return f"Bu sayfa {number} numaralı konuyu anlatır ve başka hiçbir sayfada bulunmaz."


def small(site: Site, count: int = 3, **start: Any) -> None:
    """A start that links to `count` pages."""
    paths = tuple(f"/s{number}" for number in range(count))
    site.pages["/"] = html("Başlangıç", "Yardım merkezine hoş geldiniz.", links=paths, **start)
    for number, path in enumerate(paths):
        site.pages[path] = html(f"Konu {number}", text_of(number))


def linking(site: Site, *links: str, **start: Any) -> None:
    site.pages["/"] = html("Başlangıç", "Yardım merkezine hoş geldiniz.", links=links, **start)


def page(site: Site, path: str, text: str = "", **options: Any) -> None:
    site.pages[path] = html(f"Sayfa {path}", text or f"Burada {path} anlatılır.", **options)


# Documents, and changes


def test_a_website_becomes_documents(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    assert (sync.state, sync.reasons, sync.error) == (State.COMPLETE, [], "")
    assert (sync.fetched, sync.added, sync.changed, sync.unchanged) == (4, 4, 0, 0)
    assert documents(sync.website, site) == {"/", "/s0", "/s1", "/s2"}


def test_a_second_crawl_makes_no_new_jobs(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    before = IngestionJob.objects.count()
    again = finish(sync.website)
    assert (again.state, again.unchanged, again.added, again.changed) == (State.COMPLETE, 4, 0, 0)
    assert IngestionJob.objects.count() == before


def test_only_what_changed_makes_a_job(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    before = set(IngestionJob.objects.values_list("pk", flat=True))
    page(site, "/s1", "Bu sayfanın metni değişti.")
    page(site, "/new")
    linking(site, "/s0", "/s1", "/s2", "/new")
    again = finish(sync.website)
    assert (again.added, again.changed, again.unchanged, again.gone) == (1, 2, 2, 0)
    made = IngestionJob.objects.exclude(pk__in=before).values_list("document__uri", flat=True)
    assert Counter(made) == Counter(map(site.url, ["/", "/s1", "/new"]))


def test_markup_that_changes_with_every_request_changes_nothing(acme: World, site: Site) -> None:
    count = iter(range(1000))

    def volatile(request: Request) -> None:
        token = f'<meta name="csrf" content="{next(count)}"><!-- {next(count)} -->'
        request.answer(200, html("Form", "Bu sayfa hep aynıdır.", head=token))

    site.pages["/"] = volatile
    sync = crawled(acme, site)
    before = IngestionJob.objects.count()
    assert finish(sync.website).unchanged == 1
    assert IngestionJob.objects.count() == before


def test_a_known_page_is_asked_for_only_if_it_changed(acme: World, site: Site) -> None:
    small(site)
    body = html("Başlangıç", "Yardım merkezine hoş geldiniz.", links=("/s0", "/s1"))
    site.pages["/"] = with_etag(body, '"v1"')
    site.pages["/s0"] = with_headers(
        html("Konu", text_of(0)), Last_Modified="Wed, 21 Oct 2015 07:28:00 GMT"
    )
    sync = crawled(acme, site)
    site.requests.clear()
    again = finish(sync.website)
    headers = dict(site.requests)
    assert headers["/"]["If-None-Match"] == '"v1"'
    assert headers["/s0"]["If-Modified-Since"] == "Wed, 21 Oct 2015 07:28:00 GMT"
    assert (again.state, again.unchanged) == (State.COMPLETE, 3)  # /s1 by the links it remembers
    assert documents(sync.website, site) == {"/", "/s0", "/s1"}


# What is gone


def test_a_complete_crawl_removes_what_is_gone(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    linking(site, "/s0", "/s1")
    site.pages["/s1"] = status(410)
    del site.pages["/s2"]
    again = finish(sync.website)
    assert (again.state, again.gone) == (State.COMPLETE, 2)
    assert documents(sync.website, site) == {"/", "/s0"}
    assert not Page.objects.filter(url=site.url("/s2")).exists()
    assert acme.document in Document.objects.all()  # what was uploaded is no page of the website


@pytest.mark.parametrize("failure", [500, 503, 403, 429])
def test_a_crawl_with_failed_pages_removes_nothing(acme: World, site: Site, failure: int) -> None:
    small(site)
    sync = crawled(acme, site)
    linking(site, "/s0", "/s1")
    site.pages["/s0"] = status(failure, Retry_After="0")
    again = finish(sync.website)
    assert (again.state, again.reasons) == (State.PARTIAL, ["pages_failed"])
    assert (again.gone, again.failed) == (0, {f"http_{failure}": 1})
    assert documents(sync.website, site) == {"/", "/s0", "/s1", "/s2"}


def test_a_crawl_that_met_its_page_limit_removes_nothing(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    sync.website.page_limit = 2
    sync.website.save()
    again = finish(sync.website)
    assert (again.state, again.reasons, again.gone) == (State.PARTIAL, ["page_limit"], 0)
    assert again.found == 2
    assert len(documents(sync.website, site)) == 4


def test_a_crawl_that_met_its_depth_limit_removes_nothing(acme: World, site: Site) -> None:
    linking(site, "/a")
    page(site, "/a", links=("/b",))
    page(site, "/b")
    sync = crawled(acme, site)
    sync.website.depth_limit = 1
    sync.website.save()
    again = finish(sync.website)
    assert (again.state, again.reasons, again.gone) == (State.PARTIAL, ["depth_limit"], 0)
    assert "/b" in documents(sync.website, site)


@pytest.mark.parametrize("failure", [500, 503, 429])
def test_a_robots_txt_that_fails_stops_the_crawl_and_removes_nothing(
    acme: World, site: Site, failure: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(site)
    sync = crawled(acme, site)
    site.pages["/robots.txt"] = status(failure)
    site.requests.clear()
    again = finish(sync.website)
    assert (again.state, again.error_code) == (State.FAILED, "start_failed")
    assert "robots_unreachable" in again.reasons
    assert set(site.paths()) == {"/robots.txt"}
    assert len(documents(sync.website, site)) == 4


def test_a_host_that_is_not_known_is_named_as_such(acme: World, site: Site) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise HostNotFound

    sync = finish(website(acme, site), fetcher=Fetcher(resolver=unknown))
    assert (sync.state, sync.failed) == (State.FAILED, {"host_not_found": 1})
    assert sync.reasons == ["host_not_found", "start_failed"]
    assert "(host_not_found) The name of the server is not known." in sync.error


@pytest.mark.parametrize("failure", [404, 500])
def test_a_website_whose_start_fails_loses_nothing(acme: World, site: Site, failure: int) -> None:
    small(site)
    sync = crawled(acme, site)
    site.pages = {"*": status(failure)}
    site.pages["/robots.txt"] = status(404)
    again = finish(sync.website)
    assert (again.state, again.error_code) == (State.FAILED, "start_failed")
    assert len(documents(sync.website, site)) == 4


def only_links(*links: str) -> str:
    """A page of navigation, without a sentence of its own."""
    anchors = "".join(f'<li><a href="{link}">{link}</a></li>' for link in links)
    return f"<html><body><nav><ul>{anchors}</ul></nav></body></html>"


def test_a_start_of_nothing_but_links_does_not_keep_a_crawl_from_being_complete(
    acme: World, site: Site
) -> None:
    small(site)
    site.pages["/"] = only_links("/s0", "/s1", "/s2")
    sync = crawled(acme, site)
    assert (sync.state, sync.failed) == (State.COMPLETE, {})
    assert sync.skipped == {"only_links": 1}
    assert code(sync.website, site, "/") == "only_links"
    site.pages["/"] = only_links("/s0", "/s1")
    again = finish(sync.website)
    assert (again.state, again.gone) == (State.COMPLETE, 1)
    assert (again.failed, again.skipped) == ({}, {"only_links": 1})
    assert documents(sync.website, site) == {"/s0", "/s1"}


def test_a_page_of_links_on_the_way_is_no_failure_but_one_that_leads_nowhere_is(
    acme: World, site: Site
) -> None:
    linking(site, "/way", "/back")
    site.pages["/way"] = only_links("/", "/end")
    site.pages["/end"] = html("Son", "İade süresi teslimden sonra on dört gündür.")
    site.pages["/back"] = only_links("/", "/way")
    sync = crawled(acme, site)
    assert (sync.failed, sync.skipped) == ({"no_content": 1}, {"only_links": 1})
    assert documents(sync.website, site) == {"/", "/end"}


@pytest.mark.parametrize("links", [(), ("/",), ("/away",)])
def test_an_empty_start_that_leads_to_no_content_removes_nothing(
    acme: World, site: Site, links: tuple[str, ...]
) -> None:
    small(site)
    sync = crawled(acme, site)
    site.pages["/"] = only_links(*links)
    again = finish(sync.website)
    assert (again.state, again.error_code, again.gone) == (State.FAILED, "start_failed", 0)
    assert len(documents(sync.website, site)) == 4


def test_a_page_that_cannot_be_read_any_more_keeps_its_document(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    site.pages["/s0"] = (
        "<html><body><div id='root'></div><script src='x.js'></script></body></html>"
    )
    again = finish(sync.website)
    assert (again.state, again.failed) == (State.COMPLETE, {"needs_javascript": 1})
    assert code(sync.website, site, "/s0") == "needs_javascript"
    assert "/s0" in documents(sync.website, site)


def test_a_page_that_fails_is_tried_again(acme: World, site: Site) -> None:
    small(site)
    tries = iter([500, 503])

    def flaky(request: Request) -> None:
        found = next(tries, 200)
        request.answer(found, html("Konu", text_of(0)), {"Retry-After": "0"})

    site.pages["/s0"] = flaky
    sync = crawled(acme, site)
    assert (sync.state, sync.failed, site.asked("/s0")) == (State.COMPLETE, {}, 3)


def test_a_failing_page_still_leads_to_those_behind_it(acme: World, site: Site) -> None:
    linking(site, "/a")
    page(site, "/a", links=("/b",))
    page(site, "/b")
    sync = crawled(acme, site)
    site.pages["/a"] = status(500)
    page(site, "/b", "Yeni metin.")
    assert finish(sync.website).changed == 1


# robots.txt and what pages wish


def test_robots_txt_is_obeyed(acme: World, site: Site) -> None:
    small(site)
    site.pages["/robots.txt"] = "User-agent: *\nDisallow: /s1\n\nUser-agent: Other\nDisallow: /\n"
    sync = crawled(acme, site)
    assert site.asked("/s1") == 0
    assert sync.skipped["robots"] == 1
    assert documents(sync.website, site) == {"/", "/s0", "/s2"}


def test_rules_for_this_crawler_win(acme: World, site: Site) -> None:
    small(site)
    site.pages["/robots.txt"] = (
        "User-agent: *\nDisallow: /\n\nUser-agent: DolphyBot\nDisallow: /s0\n"
    )
    assert documents(crawled(acme, site).website, site) == {"/", "/s1", "/s2"}


def test_a_crawl_delay_is_waited_for_outside_the_worker(acme: World, site: Site) -> None:
    small(site)
    site.pages["/robots.txt"] = "User-agent: *\nCrawl-delay: 30\n"
    made = website(acme, site)
    sync = made.syncs.get()
    wait = crawling.crawl(sync.pk)
    assert wait is not None
    assert 25 < wait <= 30
    sync.refresh_from_db()
    assert (sync.state, sync.fetched) == (State.QUEUED, 1)
    assert sync.not_before is not None


@pytest.mark.parametrize(
    "head, headers",
    [
        ('<meta name="robots" content="noindex">', {}),
        ('<meta name="ROBOTS" content="NOINDEX, follow">', {}),
        ('<meta name="dolphybot" content="none">', {}),
        ("", {"X-Robots-Tag": "noindex"}),
        ("", {"X-Robots-Tag": "dolphybot: noindex, nofollow"}),
    ],
)
def test_a_page_that_wants_no_index_becomes_no_document(
    acme: World, site: Site, head: str, headers: dict[str, str]
) -> None:
    small(site)
    body = html("Gizli", "Bu sayfa dizine girmesin.", head=head)
    site.pages["/s0"] = lambda request: request.answer(200, body, headers)
    sync = crawled(acme, site)
    assert (sync.state, sync.skipped) == (State.COMPLETE, {"noindex": 1})
    assert "/s0" not in documents(sync.website, site)


def test_a_wish_to_another_crawler_is_not_ours(acme: World, site: Site) -> None:
    small(site)
    site.pages["/s0"] = with_headers(html("Konu", text_of(0)), X_Robots_Tag="otherbot: noindex")
    assert "/s0" in documents(crawled(acme, site).website, site)


def test_links_not_to_be_followed_are_not(acme: World, site: Site) -> None:
    linking(site, "/a", "/b")
    page(site, "/a", links=("/x",), head='<meta name="robots" content="nofollow">')
    site.pages["/b"] = html("B", '<a rel="nofollow" href="/y">y</a> ve metin.')
    page(site, "/x")
    page(site, "/y")
    assert documents(crawled(acme, site).website, site) == {"/", "/a", "/b"}


def test_a_page_that_begins_to_refuse_the_index_loses_its_document(acme: World, site: Site) -> None:
    small(site)
    sync = crawled(acme, site)
    page(site, "/s0", head='<meta name="robots" content="noindex">')
    assert finish(sync.website).gone == 1
    assert documents(sync.website, site) == {"/", "/s1", "/s2"}


# Addresses


def test_links_are_relative_to_the_base(acme: World, site: Site) -> None:
    site.pages["/"] = html("Baş", "Metin.", links=("a",), head='<base href="/yardim/">')
    page(site, "/yardim/a")
    assert documents(crawled(acme, site).website, site) == {"/", "/yardim/a"}


def test_a_canonical_address_holds_the_content(acme: World, site: Site) -> None:
    linking(site, "/a?renk=mavi", "/a?renk=al")
    canonical = '<link rel="canonical" href="/a">'
    for path in ("/a", "/a?renk=mavi", "/a?renk=al"):
        page(site, path, "Ürün.", head=canonical)
    sync = crawled(acme, site)
    assert documents(sync.website, site) == {"/", "/a"}
    assert sync.skipped == {"canonical": 2}


@pytest.mark.parametrize("target", ["/yok", "/b", "http://other.example/a"])
def test_a_canonical_address_without_content_loses_nothing(
    acme: World, site: Site, target: str
) -> None:
    linking(site, "/a", "/b")
    page(site, "/a", head=f'<link rel="canonical" href="{target}">')
    page(site, "/b", head='<link rel="canonical" href="/a">')
    sync = crawled(acme, site)
    assert "/a" in documents(sync.website, site) or "/b" in documents(sync.website, site)
    if target != "/b":
        assert "/a" in documents(sync.website, site)


def test_a_redirect_leads_to_one_document(acme: World, site: Site) -> None:
    linking(site, "/old", "/older", "/new")
    site.pages |= {"/old": redirect("/new", 301), "/older": redirect("/old")}
    page(site, "/new")
    sync = crawled(acme, site)
    assert documents(sync.website, site) == {"/", "/new"}
    assert sync.skipped == {"redirect": 2}
    assert site.asked("/new") == 1


def test_a_page_that_moved_moves_its_document(acme: World, site: Site) -> None:
    linking(site, "/old")
    page(site, "/old")
    sync = crawled(acme, site)
    site.pages["/new"] = site.pages["/old"]
    site.pages["/old"] = redirect("/new", 301)
    again = finish(sync.website)
    assert (again.state, again.gone) == (State.COMPLETE, 1)
    assert documents(sync.website, site) == {"/", "/new"}


def test_circles_and_endless_redirects_are_named(acme: World, site: Site) -> None:
    linking(site, "/a", "/self", "/r0", "/out")
    site.pages |= {"/a": redirect("/b"), "/b": redirect("/a"), "/self": redirect("/self")}
    site.pages |= {f"/r{n}": redirect(f"/r{n + 1}") for n in range(50)}
    site.pages["/out"] = redirect("http://other.example/")
    sync = crawled(acme, site)
    assert sync.state == State.COMPLETE
    assert sync.failed == {"redirect_loop": 2, "too_many_redirects": 1, "redirect_outside": 1}
    assert site.asked("/r9") == 0


@pytest.mark.parametrize("to", ["http://169.254.169.254/latest/", "http://127.0.0.1:1/"])
def test_a_redirect_inwards_is_never_followed(acme: World, site: Site, to: str) -> None:
    linking(site, "/a")
    site.pages["/a"] = redirect(to)
    assert crawled(acme, site).failed == {"redirect_outside": 1}


def test_a_website_in_a_private_network_is_refused(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(site)
    made = website(acme, site)
    monkeypatch.delenv("CRAWL_ALLOWED_HOSTS")
    assert crawling.crawl(made.syncs.get().pk) is None  # nothing is tried again
    sync = made.syncs.get()
    assert (sync.state, sync.error_code) == (State.FAILED, "start_failed")
    assert (sync.failed, sync.reasons) == (
        {"url_refused": 1},
        ["start_failed", "url_refused"],
    )
    assert f"CRAWL_ALLOWED_HOSTS={site.address}" in sync.error
    assert code(made, site, "/") == "url_refused"
    assert site.requests == []


def test_an_address_that_the_worker_may_not_go_to_is_named_as_that(acme: World) -> None:
    made = Website.objects.create(tenant=acme.tenant, agent=acme.agent, url="http://127.0.0.1/")
    sync = finish(made)
    assert (sync.state, sync.failed) == (State.FAILED, {"address_refused": 1})
    assert "(address_refused)" in sync.error and "CRAWL_ALLOWED_HOSTS=127.0.0.1:80" in sync.error


def test_the_same_content_under_two_addresses_is_one_document(acme: World, site: Site) -> None:
    small(site)
    linking(site, "/index.html", "/s0", "/s0/", "/z/s0")
    site.pages["/index.html"] = site.pages["/"]
    site.pages["/s0/"] = site.pages["/z/s0"] = site.pages["/s0"]
    sync = crawled(acme, site)
    assert documents(sync.website, site) == {"/", "/s0"}
    assert sync.skipped == {"duplicate": 3}
    twin = Page.objects.get(url=site.url("/z/s0"))
    assert (twin.code, twin.alias_of) == ("duplicate", site.url("/s0"))


@pytest.mark.parametrize("first, second", [("/z", "/a"), ("/a", "/z")])
def test_of_two_pages_with_the_same_content_the_one_linked_first_holds_it(
    acme: World, site: Site, first: str, second: str
) -> None:
    linking(site, first, second)
    site.pages[first] = site.pages[second] = html("İade", "İade süresi on dört gündür.")
    sync = crawled(acme, site)
    assert documents(sync.website, site) == {"/", first}
    assert (sync.skipped, code(sync.website, site, second)) == ({"duplicate": 1}, "duplicate")


def test_of_two_pages_with_the_same_content_the_one_nearer_to_the_start_holds_it(
    acme: World, site: Site
) -> None:
    linking(site, "/m", "/z")
    site.pages["/m"] = html("Ara", "Buradan ötesi arşivdir.", links=("/a",))
    site.pages["/z"] = site.pages["/a"] = html("İade", "İade süresi on dört gündür.")
    assert documents(crawled(acme, site).website, site) == {"/", "/m", "/z"}


def test_when_the_first_of_two_goes_the_other_takes_its_place(acme: World, site: Site) -> None:
    small(site)
    linking(site, "/s0", "/z/s0", "/z/s1")
    site.pages["/z/s0"] = site.pages["/z/s1"] = site.pages["/s0"]
    sync = crawled(acme, site)
    linking(site, "/z/s0", "/z/s1")
    again = finish(sync.website)
    assert (again.state, again.gone) == (State.COMPLETE, 1)
    assert documents(sync.website, site) == {"/", "/z/s0"}
    page(site, "/z/s0", "Artık başka bir metin.")
    finish(sync.website)
    assert documents(sync.website, site) == {"/", "/z/s0", "/z/s1"}


def test_campaigns_and_sessions_make_no_pages(acme: World, site: Site) -> None:
    linking(
        site, "/a?utm_source=x&utm_medium=y", "/a?PHPSESSID=12", "/a;jsessionid=9", "/a#b", "/a"
    )
    page(site, "/a")
    sync = crawled(acme, site)
    assert site.paths().count("/a") == 1
    assert sync.found == 2


def test_a_calendar_without_end_is_bounded(acme: World, site: Site) -> None:
    def calendar(request: Request) -> None:
        day = int(request.path.partition("=")[2] or 0)
        request.answer(200, html(f"Gün {day}", text_of(day), links=(f"/takvim?gun={day + 1}",)))

    linking(site, "/takvim?gun=0")
    site.pages |= {f"/takvim?gun={day}": calendar for day in range(200)}
    sync = crawled(acme, site)
    assert sync.state == State.COMPLETE
    assert sync.skipped == {"query_variants": 1}
    assert sync.found == 1 + normalise.MOST_VARIANTS


def test_a_path_that_repeats_itself_is_bounded(acme: World, site: Site) -> None:
    linking(site, "/x/")
    site.pages["*"] = lambda request: request.answer(
        200, html(request.path, f"Sayfa {request.path} burada.", links=("x/",))
    )
    site.pages["/robots.txt"] = status(404)
    sync = crawled(acme, site)
    assert (sync.state, sync.skipped) == (State.COMPLETE, {"trap": 1})
    assert sync.found <= 5


def test_patterns_say_what_belongs(acme: World, site: Site) -> None:
    linking(site, "/yardim/a", "/yardim/eski/b", "/blog/c")
    for path in ("/yardim/a", "/yardim/eski/b", "/blog/c"):
        page(site, path)
    sync = crawled(acme, site, include=["/yardim/*"], exclude=["*/eski/*"])
    assert documents(sync.website, site) == {"/yardim/a"}
    assert site.asked("/blog/c") == site.asked("/yardim/eski/b") == 0
    assert sync.state == State.COMPLETE


def test_other_hosts_are_left_alone(acme: World, site: Site) -> None:
    linking(site, "http://other.example/", "mailto:a@b.c", "javascript:x()", "tel:1", "/a")
    page(site, "/a")
    assert documents(crawled(acme, site).website, site) == {"/", "/a"}


# Sitemaps


def sitemap(site: Site, *paths: str, kind: str = "url") -> str:
    root = {"url": "urlset", "sitemap": "sitemapindex"}[kind]
    entries = "".join(f"<{kind}><loc>{site.url(path)}</loc></{kind}>" for path in paths)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="{space}">{entries}</{root}>'


def xml(body: str | bytes) -> Any:
    return with_headers(body, Content_Type="application/xml")


def test_a_website_can_start_from_a_sitemap(acme: World, site: Site) -> None:
    small(site, 2)
    site.pages["/sitemap.xml"] = xml(sitemap(site, "/s0", "/s1"))
    sync = crawled(acme, site, "/sitemap.xml")
    assert sync.state == State.COMPLETE
    assert documents(sync.website, site) == {"/s0", "/s1"}


def test_an_index_leads_to_packed_sitemaps(acme: World, site: Site) -> None:
    small(site, 3)
    site.pages["/sitemap.xml"] = xml(sitemap(site, "/m1.xml.gz", "/m2.xml", kind="sitemap"))
    packed = gzip.compress(sitemap(site, "/s0", "/s1").encode())
    site.pages["/m1.xml.gz"] = with_headers(packed, Content_Type="application/gzip")
    site.pages["/m2.xml"] = xml(sitemap(site, "/s2"))
    sync = crawled(acme, site, "/sitemap.xml", include=["/s*"])
    assert sync.state == State.COMPLETE
    assert documents(sync.website, site) == {"/s0", "/s1", "/s2"}
    again = finish(sync.website)
    assert (again.state, again.unchanged, again.gone) == (State.COMPLETE, 3, 0)


def test_sitemaps_named_by_robots_txt_are_read(acme: World, site: Site) -> None:
    page(site, "/")
    page(site, "/orphan")
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/map.xml')}\n"
    site.pages["/map.xml"] = xml(sitemap(site, "/orphan"))
    assert documents(crawled(acme, site).website, site) == {"/", "/orphan"}


def test_a_sitemap_that_fails_leaves_the_crawl_partial(acme: World, site: Site) -> None:
    page(site, "/")
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/map.xml')}\n"
    site.pages["/map.xml"] = status(500)
    assert crawled(acme, site).state == State.PARTIAL


BOMB = """<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa">
<!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;">
<!ENTITY d SYSTEM "file:///etc/passwd">]>
<urlset><url><loc>http://127.0.0.1/&c;&d;</loc></url></urlset>"""


@pytest.mark.parametrize(
    "body", [BOMB, "<urlset", "<urlset><url><loc>::</loc></url></urlset>", gzip.compress(b"x" * 9)]
)
def test_a_bad_sitemap_harms_nobody(acme: World, site: Site, body: str | bytes) -> None:
    page(site, "/")
    site.pages["/robots.txt"] = f"Sitemap: {site.url('/sitemap.xml')}\n"
    site.pages["/sitemap.xml"] = xml(body)
    assert documents(crawled(acme, site).website, site) == {"/"}


# Files, and what is no document


def test_files_linked_from_pages_become_documents(acme: World, site: Site) -> None:
    linking(site, "/belge/%C4%B0ade%20formu.pdf", "/fiyat.csv", "/resim.png", "/veri")
    pdf = b"%PDF-1.4\n%%EOF\n"
    site.pages["/belge/%C4%B0ade%20formu.pdf"] = with_headers(pdf, Content_Type="application/pdf")
    site.pages["/fiyat.csv"] = with_headers("ad,fiyat\nçanta,5\n", Content_Type="text/csv")
    site.pages["/veri"] = with_headers(b"\x89PNG\r\n", Content_Type="image/png")
    sync = crawled(acme, site)
    assert documents(sync.website, site) == {"/", "/belge/%C4%B0ade%20formu.pdf", "/fiyat.csv"}
    assert site.asked("/resim.png") == 0
    assert sync.failed == {"not_a_document": 1}
    job = IngestionJob.objects.get(document__uri=site.url("/belge/%C4%B0ade%20formu.pdf"))
    assert (job.name, job.size) == ("İade formu.pdf", len(pdf))
    assert finish(sync.website).unchanged == 3


def test_the_charset_of_the_header_counts(acme: World, site: Site) -> None:
    body = html("Şığ", "Güneşli bir gün, ığdır şeftalisi.").encode("windows-1254")
    site.pages["/"] = with_headers(body, Content_Type="text/html; charset=windows-1254")
    assert "Güneşli bir gün, ığdır şeftalisi." in stored(acme, site, crawled(acme, site), "/")


def stored(world: World, site: Site, sync: Sync, path: str) -> str:
    """What ingestion received of a page."""
    from ingestion import files

    jobs = IngestionJob.objects.filter(document__uri=site.url(path), tenant=world.tenant)
    return files.read(jobs.latest("created_at").file).decode()


def test_pages_without_text_say_why(acme: World, site: Site) -> None:
    linking(site, "/js", "/empty", "/nothing", "/heading")
    site.pages["/heading"] = html("Yalnız bir başlık")
    site.pages["/js"] = (
        "<html><body><noscript>Please enable JavaScript.</noscript><div id='app'></div>"
        "<script src='a.js'></script></body></html>"
    )
    site.pages["/empty"] = ""
    site.pages["/nothing"] = "<html><body><nav><a href='/'>x</a></nav></body></html>"
    sync = crawled(acme, site)
    assert sync.state == State.COMPLETE
    assert sync.failed == {"needs_javascript": 1, "empty_file": 1, "no_content": 2}
    assert code(sync.website, site, "/js") == "needs_javascript"


def test_bad_pages_do_not_stop_the_others(acme: World, site: Site) -> None:
    small(site)
    linking(site, "/huge", "/broken", "/s0", "/s1", "/s2")
    site.pages["/huge"] = lambda request: request.raw(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5368709120\r\n\r\n"
    )
    site.pages["/broken"] = lambda request: request.raw(b"nonsense\r\n\r\n")
    sync = crawled(acme, site)
    assert sync.failed == {"page_too_large": 1, "broken_response": 1}
    assert documents(sync.website, site) == {"/", "/s0", "/s1", "/s2"}


# What repeats


FOOTER = "Bizi hafta içi 0850 000 00 00 numaralı telefondan arayabilirsiniz."


def test_what_repeats_across_pages_is_learned_and_dropped(acme: World, site: Site) -> None:
    links = tuple(f"/s{number}" for number in range(6))
    site.pages["/"] = html("Başlangıç", "Hoş geldiniz.", FOOTER, links=links)
    for number, path in enumerate(links):
        site.pages[path] = html(f"Konu {number}", text_of(number), FOOTER)
    sync = crawled(acme, site)
    for path in links:
        text = stored(acme, site, sync, path)
        assert FOOTER not in text
        assert "numaralı konuyu anlatır" in text
    sync.website.refresh_from_db()
    assert [(one["text"], one["pages"]) for one in sync.website.boilerplate] == [(FOOTER, 7)]
    before = IngestionJob.objects.count()
    assert finish(sync.website).unchanged == 7
    assert IngestionJob.objects.count() == before


def report(site: Site, path: str) -> dict[str, object]:
    """The report of a page's document, once its newest job is done."""
    job = IngestionJob.objects.filter(document__uri=site.url(path)).latest("created_at")
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state in (IngestionJob.State.SUCCEEDED, IngestionJob.State.CANCELLED), job.error
    return Document.objects.get(uri=site.url(path)).report


def test_the_report_of_a_page_says_what_the_crawl_found(acme: World, site: Site) -> None:
    links = tuple(f"/s{number}" for number in range(6))
    linking(site, *links)
    menu = '<nav><a href="/">Ana sayfa</a></nav>'
    for number, path in enumerate(links):
        page = html(f"Konu {number}", text_of(number), FOOTER).replace("<h1>", menu + "<h1>")
        site.pages[path] = with_headers(
            page.encode("iso-8859-9"), Content_Type="text/html; charset=iso-8859-9"
        )
    sync = crawled(acme, site)
    before = report(site, "/s0")
    assert before["charset"] == "windows-1254"  # which browsers take it for
    assert (before["repeated_blocks"], before["repeated_characters"]) == (1, len(FOOTER))
    own = Page.objects.get(url=site.url("/s0")).boilerplate_removed
    assert own > 0 and before["boilerplate_removed"] == own + 1
    for number in range(1, 6):
        site.pages[f"/s{number}"] = html(f"Konu {number}", text_of(number))
    finish(sync.website)
    after = report(site, "/s0")
    assert (after["repeated_blocks"], after["repeated_characters"]) == (0, 0)
    assert (after["boilerplate_removed"], after["charset"]) == (own, "windows-1254")


def test_the_charset_that_a_page_names_itself_is_reported(acme: World, site: Site) -> None:
    head = '<meta charset="windows-1254">'
    body = html("Şığ", "Güneşli bir gün, ığdır şeftalisi.", head=head).encode("windows-1254")
    site.pages["/"] = with_headers(body, Content_Type="text/html")
    crawled(acme, site)
    assert report(site, "/")["charset"] == "windows-1254"


def test_what_is_no_page_of_a_website_reports_what_was_read_of_it(acme: World, site: Site) -> None:
    linking(site, "/belge.html", "/fiyat.csv")
    site.pages["/fiyat.csv"] = with_headers("ad,fiyat\nTava,250\n", Content_Type="text/csv")
    site.pages["/belge.html"] = html("Belge", text_of(1))
    crawled(acme, site)
    assert "repeated_blocks" not in report(site, "/fiyat.csv")
    ours = ingest_text(acme.agent, "ayri.html", html("Ayrı", text_of(2)))
    assert "repeated_blocks" not in ours.report


def test_what_stops_repeating_comes_back(acme: World, site: Site) -> None:
    links = tuple(f"/s{number}" for number in range(6))
    linking(site, *links)
    for number, path in enumerate(links):
        site.pages[path] = html(f"Konu {number}", text_of(number), FOOTER)
    sync = crawled(acme, site)
    assert FOOTER not in stored(acme, site, sync, "/s0")
    for number in range(1, 6):
        site.pages[f"/s{number}"] = html(f"Konu {number}", text_of(number))
    again = finish(sync.website)
    assert FOOTER in stored(acme, site, again, "/s0")


# The work


def test_a_large_website_is_crawled_in_slices(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(site, 40)
    monkeypatch.setattr(crawling, "SLICE_SECONDS", 0.0)
    monkeypatch.setattr(crawling, "BATCH", 4)
    made = website(acme, site)
    sync = made.syncs.get()
    assert crawling.crawl(sync.pk) == 0.0
    sync.refresh_from_db()
    assert sync.state == State.QUEUED
    monkeypatch.setattr(crawling, "SLICE_SECONDS", 0.05)
    sync = finish(made)
    assert (sync.state, sync.added, sync.fetched) == (State.COMPLETE, 41, 41)


def test_a_sync_that_a_dead_worker_left_goes_on_where_it_was(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    small(site, 10)

    def die(request: Request) -> None:
        raise AssertionError

    made = website(acme, site)
    sync = made.syncs.get()
    real = crawling.settle
    seen: list[str] = []

    def dying(walk: Any, page: Page, outcome: Any) -> None:
        if len(seen) == 5:
            raise KeyboardInterrupt  # as abrupt as a test can be
        seen.append(page.url)
        real(walk, page, outcome)

    monkeypatch.setattr(crawling, "settle", dying)
    with pytest.raises(KeyboardInterrupt):
        crawling.crawl(sync.pk)
    monkeypatch.setattr(crawling, "settle", real)
    assert crawling.crawl(sync.pk) is None  # its lease still runs
    Sync.objects.update(lease_until="2020-01-01T00:00Z")
    sync = finish(made)
    assert (sync.state, sync.added) == (State.COMPLETE, 11)
    assert IngestionJob.objects.filter(document__uri__startswith=site.url("/")).count() == 11
