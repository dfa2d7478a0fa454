"""A real website: LibreOffice's Turkish help, as Debian packages it, served from where it lies.

Its pages were made by nobody who knew of this crawler: `<base href>`, a refresh inside `noscript`,
the same navigation above each of them, links that leave the part that is wanted. Two of its guides
are crawled, some 250 pages, and every passage is embedded by an endpoint that counts.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from dolphy.cache import valkey
from ingestion.crawl import websites
from ingestion.crawl.models import Sync, Website
from ingestion.ingest import ingest
from ingestion.models import Document, IngestionJob, Passage
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer
from tests.factories import make_agent
from tests.ingestion.crawl.run import finish

HELP = Path("/usr/share/libreoffice/help")
START = "tr/text/swriter/main0000.html"  # outside of the guides: it is read for its links
GUIDES = ["/tr/text/swriter/guide/*", "/tr/text/shared/guide/*"]

pytestmark = pytest.mark.skipif(
    not (HELP / START).is_file(), reason="Debian's libreoffice-help-tr is not installed"
)


class Request(SimpleHTTPRequestHandler):
    """Files with Last-Modified, 304 for who knows them; or, as some servers are, without either.

    `rewritten` answers for the paths it holds instead of the files.
    """

    server: Server

    def do_GET(self) -> None:
        self.server.asked += 1
        rewritten = self.server.rewritten.get(self.path.removeprefix("/"))
        if not self.server.validates:
            del self.headers["If-Modified-Since"]
        if rewritten is None:
            super().do_GET()
        else:
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(rewritten)))
            self.end_headers()
            self.wfile.write(rewritten)

    def send_header(self, keyword: str, value: str) -> None:
        if keyword != "Last-Modified" or self.server.validates:
            super().send_header(keyword, value)

    def send_response(self, code: int, message: str | None = None) -> None:
        self.server.not_modified += code == 304
        super().send_response(code, message)

    def log_message(self, *args: Any) -> None:
        """Tests stay quiet."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), partial(Request, directory=str(HELP)))
        self.address = f"127.0.0.1:{self.server_port}"
        self.validates = True
        self.rewritten: dict[str, bytes] = {}
        self.asked = self.not_modified = 0


@pytest.fixture
def help_pages(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        monkeypatch.setenv("CRAWL_ALLOWED_HOSTS", server.address)
        yield server
        server.shutdown()
        thread.join()
        valkey().delete(f"crawl:pause:{server.address}")


@pytest.fixture
def agent(db: None) -> Agent:
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


def crawled_and_ingested(agent: Agent, server: Server, include: list[str]) -> Website:
    website = websites.create(agent, f"http://{server.address}/{START}", include=include, delay=0.0)
    sync = finish(website)
    assert (sync.state, sync.reasons) == (Sync.State.COMPLETE, [])
    assert sync.failed.keys() <= {"no_content", "http_404"}  # lists of links; a link that is broken
    assert sum(sync.failed.values()) < 10
    ingest_all()
    return website


def ingest_all() -> int:
    """Do every job that waits; how many those were."""
    waiting = list(IngestionJob.objects.filter(state=IngestionJob.State.QUEUED))
    for job in waiting:
        ingest(job.pk)
    assert not IngestionJob.objects.filter(state__in=IngestionJob.OPEN).exists()
    return len(waiting)


def counts(sync: Sync) -> tuple[int, int, int, int]:
    return sync.added, sync.changed, sync.gone, sync.unchanged


def documents_of(server: Server) -> Any:
    return Document.objects.filter(uri__startswith=f"http://{server.address}/")


def test_a_real_website_that_is_crawled_twice_embeds_nothing_again(
    embedding_server: EmbeddingServer, agent: Agent, help_pages: Server
) -> None:
    website = crawled_and_ingested(agent, help_pages, GUIDES)
    documents = documents_of(help_pages).count()
    ready = documents_of(help_pages).filter(state=Document.State.READY)
    passages = Passage.objects.filter(document__in=ready)
    kept = set(passages.values_list("pk", flat=True))
    assert 200 < documents == ready.count() < len(kept)
    assert 200 < len(embedding_server.embedded) == len(set(embedding_server.embedded))

    embedding_server.forget()
    again = finish(website)
    assert again.state == Sync.State.COMPLETE
    assert counts(again) == (0, 0, 0, documents)
    assert help_pages.not_modified >= documents

    help_pages.validates = False  # every page is sent in full, and found to say what it said
    third = finish(website)
    assert third.state == Sync.State.COMPLETE
    assert counts(third) == (0, 0, 0, documents)

    assert ingest_all() == 0
    assert embedding_server.requests == []
    assert set(passages.values_list("pk", flat=True)) == kept


def test_of_a_real_website_only_what_was_rewritten_is_embedded_again(
    embedding_server: EmbeddingServer, agent: Agent, help_pages: Server
) -> None:
    website = crawled_and_ingested(agent, help_pages, GUIDES[:1])
    documents = documents_of(help_pages).count()
    path = "tr/text/swriter/guide/words_count.html"
    before = (HELP / path).read_bytes()
    help_pages.rewritten[path] = before.replace(b"</h1>", b"</h1><p>Bu sayfa yenilendi.</p>", 1)

    embedding_server.forget()
    again = finish(website)
    assert counts(again) == (0, 1, 0, documents - 1)
    assert ingest_all() == 1
    assert any("Bu sayfa yenilendi." in text for text in embedding_server.embedded)
    changed = Passage.objects.filter(document__uri__endswith=path)
    assert len(embedding_server.embedded) <= changed.count()
