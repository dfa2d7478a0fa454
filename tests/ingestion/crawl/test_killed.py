"""A worker that is killed in the middle of a sync, for real."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from ingestion.crawl import websites
from ingestion.crawl.crawl import crawl
from ingestion.crawl.models import Page, Sync
from ingestion.models import Document, IngestionJob
from tenants.models import Tenant
from tests.factories import make_agent
from tests.ingestion.crawl.site import Request, Site, html

PAGES = 40
WORK = """
import sys, django
django.setup()
from ingestion.crawl.crawl import crawl
crawl(sys.argv[1])
"""


@pytest.mark.django_db(transaction=True)
def test_a_sync_goes_on_where_a_killed_worker_was(site: Site) -> None:
    links = tuple(f"/s{number}" for number in range(PAGES))

    def slow(request: Request) -> None:
        time.sleep(0.05)
        request.answer(200, html(request.path, f"Burada {request.path} anlatılır."))

    site.pages = {"/": html("Baş", "Hoş geldiniz.", links=links)} | dict.fromkeys(links, slow)
    agent = make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")
    website = websites.create(agent, site.url("/"), delay=0.0)
    sync = website.syncs.get()

    worker = subprocess.Popen(
        [sys.executable, "-c", WORK, str(sync.pk)], cwd=settings.BASE_DIR, env=environment()
    )
    until = time.monotonic() + 60
    while not Page.objects.filter(website=website).exclude(state="waiting").count() > 5:
        assert worker.poll() is None, "it was done too soon, or failed"
        assert time.monotonic() < until
        time.sleep(0.01)
    worker.send_signal(signal.SIGKILL)
    worker.wait()

    sync.refresh_from_db()
    assert (sync.state, sync.is_finished) == (Sync.State.RUNNING, False)
    settled, asked = sync.fetched, len(site.requests)
    assert 0 < settled < PAGES
    assert crawl(sync.pk) is None  # the dead worker's lease still runs
    Sync.objects.update(lease_until="2020-01-01T00:00Z")
    assert crawl(sync.pk) is None

    sync.refresh_from_db()
    assert (sync.state, sync.added, sync.fetched) == (Sync.State.COMPLETE, PAGES + 1, PAGES + 1)
    assert len(site.requests) - asked == PAGES + 1 - settled  # only what was not settled
    assert Document.objects.count() == IngestionJob.objects.count() == PAGES + 1


def environment() -> dict[str, Any]:
    """The services of this test, its database among them, for another process."""
    held = connection.settings_dict
    parts = {
        "dbname": "NAME",
        "user": "USER",
        "password": "PASSWORD",
        "host": "HOST",
        "port": "PORT",
    }
    url = " ".join(f"{part}={held[name]}" for part, name in parts.items() if held[name])
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "dolphy.settings",
        "DATABASE_URL": url,
        "REDIS_URL": settings.REDIS_URL,
        "MEDIA_ROOT": settings.MEDIA_ROOT,
    }
