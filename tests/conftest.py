"""The test session: which services it runs on.

Django's settings join the embedded services of flavour "test" (a database and a broker of this
session's own, whatever else runs in the checkout) unless DATABASE_URL and REDIS_URL name others;
pytest-django makes the database `test_…` in it and drops it at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings

from dolphy.cache import valkey
from tests.embedding_server import EmbeddingServer
from tests.factories import World, make_world


def pytest_report_header(config: pytest.Config) -> str:
    database = settings.DATABASES["default"]
    return f"services: PostgreSQL at {database['HOST'] or 'localhost'}, {settings.REDIS_URL}"


@pytest.fixture(autouse=True)
def own_files(settings: Any, tmp_path: Path) -> None:
    """Uploaded files of a test lie in a folder of its own."""
    settings.MEDIA_ROOT = str(tmp_path / "media")


@pytest.fixture
def acme(db: None) -> World:
    return make_world("acme")


@pytest.fixture
def globex(db: None) -> World:
    return make_world("globex")


@pytest.fixture
def embedding_server(settings: Any) -> Iterator[EmbeddingServer]:
    """The scripted endpoint, configured as the embedder of this test. No question is remembered
    from another test, whose endpoint may have answered otherwise."""
    for name in valkey().scan_iter("question:*"):
        valkey().delete(name)
    with EmbeddingServer() as server:
        server.configure(settings)
        yield server
