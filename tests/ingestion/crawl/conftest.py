"""A site that may be crawled, and a crawl that does not wait."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dolphy.cache import valkey
from ingestion.crawl import settle
from tests.ingestion.crawl.site import Site, serving


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    with serving() as site:
        monkeypatch.setenv("CRAWL_ALLOWED_HOSTS", site.address)
        yield site
        valkey().delete(f"crawl:pause:{site.address}")


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    monkeypatch.setattr(settle, "BACKOFF_SECONDS", 0.01)
