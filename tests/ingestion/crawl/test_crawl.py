"""Whole syncs of a small website that plays every trick."""

from __future__ import annotations

from typing import Any

import pytest

from ingestion.crawl.models import Page, Sync
from ingestion.models import IngestionJob
from tests.factories import World
from tests.ingestion.crawl.run import code, crawled, documents, finish, website
from tests.ingestion.crawl.site import Site, html, redirect, status, with_etag, with_headers

State = Sync.State


def text_of(number: int) -> str:
    return f"Bu sayfa {number} numaralı konuyu anlatır ve başka hiçbir sayfada bulunmaz."


def small(site: Site, count: int = 3) -> None:
    """A start that links to `count` pages."""
    paths = tuple(f"/s{number}" for number in range(count))
    site.pages["/"] = html("Başlangıç", "Yardım merkezine hoş geldiniz.", links=paths)
    for number, path in enumerate(paths):
        site.pages[path] = html(f"Konu {number}", text_of(number))


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
