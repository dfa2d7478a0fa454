"""Sitemaps that are damaged, empty or without end: what they do not name is not gone for that."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from ingestion.crawl import crawl as crawling
from ingestion.crawl import frontier
from ingestion.crawl.models import Sync
from ingestion.crawl.sitemap import read_sitemap
from tests.factories import World
from tests.ingestion.crawl.run import code, crawled, documents, finish
from tests.ingestion.crawl.site import Request, Site, html, status, with_headers

State = Sync.State
THREE = {"/p0", "/p1", "/p2"}


def listing(site: Site, *paths: str, kind: str = "url") -> str:
    root = {"url": "urlset", "sitemap": "sitemapindex"}[kind]
    entries = "".join(f"<{kind}><loc>{site.url(path)}</loc></{kind}>" for path in paths)
    return f"<{root}>{entries}</{root}>"


def xml(body: str) -> Any:
    return with_headers(body, Content_Type="application/xml")


@pytest.fixture
def three(site: Site) -> Site:
    """Three pages that a sitemap lists."""
    for path in THREE:
        site.pages[path] = html(f"Sayfa {path}", f"Burada {path} anlatılır.")
    site.pages["/sitemap.xml"] = xml(listing(site, *sorted(THREE)))
    return site


def cut(site: Site) -> str:
    whole = listing(site, *sorted(THREE))
    return whole[: whole.index("/p1") + 1]


BROKEN = {
    "cut off at once": "<urlset><url><loc>",
    "empty": "",
    "text": "Service temporarily unavailable",
    "a page": html("Bakım", "Sitemiz bakımdadır."),
    "another root": "<error>bakım</error>",
    "after many mistakes": "<urlset>" + "<url><image:loc>x</image:loc></url>" * 200 + "<url>",
}


@pytest.mark.parametrize("body", [*BROKEN.values(), None], ids=[*BROKEN, "cut in the middle"])
@pytest.mark.parametrize("start", ["/sitemap.xml", "/"])
def test_a_broken_sitemap_removes_nothing(
    acme: World, three: Site, body: str | None, start: str
) -> None:
    three.pages["/"] = html("Başlangıç", "Hoş geldiniz.")
    three.pages["/robots.txt"] = f"Sitemap: {three.url('/sitemap.xml')}\n"
    sync = crawled(acme, three, start)
    before = documents(sync.website, three)
    assert before >= THREE
    three.pages["/p2"] = html("Sayfa 2", "Yeni metin.")
    three.pages["/sitemap.xml"] = xml(cut(three) if body is None else body)
    again = finish(sync.website)
    assert (again.state, again.reasons, again.gone) == (State.PARTIAL, ["sitemap_broken"], 0)
    assert again.failed == {"sitemap_broken": 1}
    assert again.changed == 1  # what it listed before is still looked at
    assert documents(sync.website, three) == before
    assert code(sync.website, three, "/sitemap.xml") == "sitemap_broken"
    three.pages["/sitemap.xml"] = xml(listing(three, "/p0", "/p1"))
    healed = finish(sync.website)
    assert (healed.state, healed.gone) == (State.COMPLETE, 1)


def test_a_start_that_is_a_broken_sitemap_from_the_first_fails(acme: World, site: Site) -> None:
    site.pages["/sitemap.xml"] = "Service temporarily unavailable"
    sync = crawled(acme, site, "/sitemap.xml")
    assert (sync.state, sync.error_code) == (State.FAILED, "start_failed")
    assert "(sitemap_broken)" in sync.error


def test_a_start_that_lists_nothing_is_never_believed(acme: World, three: Site) -> None:
    sync = crawled(acme, three, "/sitemap.xml")
    three.pages["/sitemap.xml"] = xml("<urlset></urlset>")
    again = finish(sync.website)
    assert (again.state, again.reasons) == (State.PARTIAL, ["sitemap_empty"])
    for _ in range(3):
        later = finish(sync.website)
        assert (later.state, later.gone) == (State.FAILED, 0)
        assert "(sitemap_empty)" in later.error
    assert documents(sync.website, three) == THREE


def test_another_sitemap_that_lists_nothing_is_believed_the_second_time(
    acme: World, three: Site
) -> None:
    three.pages["/"] = html("Başlangıç", "Hoş geldiniz.", links=("/p0", "/p1"))
    three.pages["/robots.txt"] = f"Sitemap: {three.url('/map.xml')}\n"
    three.pages["/map.xml"] = xml(listing(three, "/p2"))
    sync = crawled(acme, three)
    three.pages["/map.xml"] = xml("<urlset></urlset>")
    again = finish(sync.website)
    assert (again.state, again.reasons, again.gone) == (State.PARTIAL, ["sitemap_empty"], 0)
    last = finish(sync.website)
    assert (last.state, last.gone) == (State.COMPLETE, 1)
    assert documents(sync.website, three) == {"/", "/p0", "/p1"}


def test_an_index_that_breaks_off_still_leads_to_the_sitemaps_it_knew(
    acme: World, three: Site
) -> None:
    three.pages["/map.xml"] = xml(listing(three, *THREE))
    three.pages["/sitemap.xml"] = xml(listing(three, "/map.xml", kind="sitemap"))
    sync = crawled(acme, three, "/sitemap.xml", include=["/p*"])
    three.pages["/sitemap.xml"] = xml("<sitemapindex><sitemap>")
    again = finish(sync.website)
    assert (again.reasons, again.unchanged) == (["sitemap_broken"], 3)
    assert three.asked("/map.xml") == 2


@pytest.mark.parametrize(
    "body, urls",
    [
        ("<urlset><url><loc>http://a/?x=1&y=2</loc></url></urlset>", ("http://a/?x=1&y=2",)),
        (
            "<urlset><url><image:loc>b</image:loc><loc>http://a/</loc></url></urlset>",
            ("http://a/",),
        ),
        (
            "\ufeff\n<urlset><url><loc> http://a/\x0b</loc></url></urlset>\n<!-- x -->",
            ("http://a/",),
        ),
        ("<urlset/>", ()),
        ("<rss><channel><link>http://a/</link></channel></rss>", ()),
        ("http://a/\r\nhttp://b/\r\n", ("http://a/", "http://b/")),
    ],
)
def test_what_is_merely_untidy_is_not_broken(body: str, urls: tuple[str, ...]) -> None:
    found = read_sitemap(body.encode())
    assert (found.urls, found.is_broken) == (urls, False)


def test_an_index_without_end_is_bounded(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frontier, "MOST_SITEMAPS", 30)
    fresh = count()

    def index(request: Request) -> None:
        if request.path.startswith("/sitemap"):
            names = [f"/sitemap{next(fresh)}.xml" for _ in range(7)]
            request.answer(200, listing(site, *names, kind="sitemap"))
        else:
            request.answer(404)

    site.pages["*"] = index
    sync = crawled(acme, site, "/sitemap.xml", page_limit=10)
    assert (sync.state, sync.reasons) == (State.PARTIAL, ["sitemap_limit"])
    assert sync.skipped["sitemap_limit"] > 0
    assert sum(path.startswith("/sitemap") for path in site.paths()) <= 30


def test_indexes_lead_three_levels_down(acme: World, site: Site) -> None:
    for level in range(6):
        site.pages[f"/m{level}.xml"] = xml(listing(site, f"/m{level + 1}.xml", kind="sitemap"))
    sync = crawled(acme, site, "/m0.xml")
    assert (sync.reasons, sync.skipped) == (["sitemap_limit"], {"sitemap_limit": 1})
    assert [site.asked(f"/m{level}.xml") for level in range(5)] == [1, 1, 1, 1, 0]


def test_robots_txt_may_name_so_many_sitemaps(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawling, "MOST_NAMED_SITEMAPS", 3)
    site.pages["/"] = html("Başlangıç", "Hoş geldiniz.")
    named = "".join(f"Sitemap: {site.url(f'/m{number}.xml')}\n" for number in range(9))
    site.pages["/robots.txt"] = named + "Sitemap: http://[\nSitemap: http://other.example/m.xml\n"
    site.pages["*"] = status(404)
    sync = crawled(acme, site)
    assert (sync.state, sync.reasons) == (State.PARTIAL, ["sitemap_limit"])
    assert (sync.skipped, sync.failed) == ({"sitemap_limit": 6}, {"http_404": 3})
    assert documents(sync.website, site) == {"/"}
