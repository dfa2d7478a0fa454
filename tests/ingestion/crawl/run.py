"""Crawling in a test: syncs done to their end in this process, their jobs left alone."""

from __future__ import annotations

import time
from typing import Any

from ingestion.crawl import websites
from ingestion.crawl.crawl import crawl
from ingestion.crawl.fetch import Fetcher
from ingestion.crawl.models import Page, Sync, Website
from ingestion.models import Document
from tests.factories import World
from tests.ingestion.crawl.site import Site


def website(world: World, site: Site, path: str = "/", **settings: Any) -> Website:
    """A website without a pause between pages; its first sync is queued."""
    return websites.create(world.agent, site.url(path), **{"delay": 0.0, **settings})


def finish(website: Website, *, fetcher: Fetcher | None = None) -> Sync:
    """Do the sync at work, or a new one, slice by slice."""
    sync = website.syncs.filter(state__in=Sync.OPEN).first() or websites.sync(website)
    for _ in range(50):
        wait = crawl(sync.pk, fetcher=fetcher)
        sync.refresh_from_db()
        if sync.is_finished:
            return sync
        time.sleep(min(wait or 0.0, 0.2))
    raise AssertionError(f"The sync does not end: {sync}")


def crawled(world: World, site: Site, path: str = "/", **settings: Any) -> Sync:
    return finish(website(world, site, path, **settings))


def documents(website: Website, site: Site) -> set[str]:
    """The paths of the website's documents."""
    uris = Document.objects.filter(
        tenant=website.tenant_id, agent=website.agent_id, uri__startswith="http"
    ).values_list("uri", flat=True)
    return {uri.removeprefix(site.url("")) for uri in uris}


def code(website: Website, site: Site, path: str) -> str:
    return Page.objects.get(tenant=website.tenant_id, website=website, url=site.url(path)).code
