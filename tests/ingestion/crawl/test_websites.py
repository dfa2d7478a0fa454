"""What is done to websites and syncs: by act, by schedule, over HTTP, from a terminal."""

from __future__ import annotations

import threading
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from ingestion.crawl import crawl as crawling
from ingestion.crawl import tasks, websites
from ingestion.crawl.crawl import crawl
from ingestion.crawl.errors import AddressRefused, SyncAtWork, SyncFinished, UrlRefused
from ingestion.crawl.models import Page, Sync, Website
from ingestion.ingest import ingest
from ingestion.models import Document, IngestionJob, Passage
from ingestion.removal import purge
from retrieval.retrieve import retrieve
from tests.factories import World
from tests.ingestion.crawl.run import crawled, documents, finish, website
from tests.ingestion.crawl.site import Request, Site, html, status

V1 = "/api/v1"
State = Sync.State


@pytest.fixture
def pages(site: Site) -> Site:
    """A start and nine pages."""
    links = tuple(f"/s{number}" for number in range(9))
    site.pages["/"] = html("Başlangıç", "Yardım merkezi.", links=links)
    for number, path in enumerate(links):
        site.pages[path] = html(f"Konu {number}", f"Bu {number} numaralı konudur.")
    return site


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# Acts


def test_one_sync_of_a_website_is_at_work_at_a_time(acme: World, pages: Site) -> None:
    made = website(acme, pages)
    with pytest.raises(SyncAtWork):
        websites.sync(made)
    with pytest.raises(IntegrityError), transaction.atomic():
        Sync.objects.create(tenant=acme.tenant, agent=acme.agent, website=made, number=7)
    assert finish(made).number == 1
    assert websites.sync(made).number == 2


def test_a_paused_sync_holds_and_goes_on_where_it_was(
    acme: World, pages: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawling, "BATCH", 1)
    made = website(acme, pages)
    sync = made.syncs.get()
    real = crawling.settle

    def settle(walk: Any, page: Page, outcome: Any) -> None:
        if page.url.endswith("/s4") and page.tries == 1:
            websites.pause(Sync.objects.get(pk=sync.pk))
        real(walk, page, outcome)

    monkeypatch.setattr(crawling, "settle", settle)
    assert crawl(sync.pk) is None
    sync.refresh_from_db()
    assert (sync.state, sync.fetched, sync.lease) == (State.PAUSED, 5, None)
    assert crawl(sync.pk) is None
    assert tasks.sweep_websites() == 0
    websites.resume(sync)
    asked = len(pages.requests)
    sync = finish(made)
    assert (sync.state, sync.added) == (State.COMPLETE, 10)
    assert len(pages.requests) - asked == 5


def test_a_cancelled_sync_stops_and_removes_nothing(
    acme: World, pages: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = crawled(acme, pages)
    pages.pages["/"] = html("Başlangıç", "Hiçbir şey kalmadı.")
    sync = websites.sync(done.website)
    websites.cancel(sync)
    assert crawl(sync.pk) is None
    sync.refresh_from_db()
    assert (sync.state, sync.fetched) == (State.CANCELLED, 0)
    assert len(documents(done.website, pages)) == 10
    with pytest.raises(SyncFinished):
        websites.cancel(sync)
    with pytest.raises(SyncFinished):
        websites.pause(sync)
    with pytest.raises(SyncFinished):
        websites.resume(sync)


def test_a_website_that_is_removed_leaves_nothing(acme: World, pages: Site) -> None:
    sync = crawled(acme, pages)
    files = list(IngestionJob.objects.filter(agent=acme.agent).values_list("file", flat=True))
    websites.remove(sync.website)
    assert documents(sync.website, pages) == set()
    assert not Page.objects.filter(website=sync.website.pk).exists()
    assert not Sync.objects.filter(website=sync.website.pk).exists()
    while purge():
        pass
    assert not Document.with_removed.filter(uri__startswith=pages.url("")).exists()
    assert [name for name in files if default_storage.exists(name)] == [acme.job.file]


def test_the_removal_of_a_website_is_seen_by_the_next_search_and_done_by_workers(
    acme: World, pages: Site
) -> None:
    website = crawled(acme, pages).website
    for job in IngestionJob.objects.filter(agent=acme.agent, state="queued"):
        ingest(job.pk)
    question = "Hangi konu anlatılıyor?"
    assert any(one.uri.startswith("http") for one in retrieve(acme.agent, question).evidence)
    assert acme.client.delete(f"{V1}/websites/{website.pk}").status_code == 204
    assert {one.uri for one in retrieve(acme.agent, question).evidence} == {"iade.md"}
    removed = Document.with_removed.filter(removed_at__isnull=False)
    assert removed.count() == 10
    assert Passage.objects.filter(document__in=removed).exists()


def test_a_website_whose_removal_costs_no_more_for_more_pages(acme: World, pages: Site) -> None:
    def queries(website: Website) -> int:
        with CaptureQueriesContext(connection) as captured:
            websites.remove(website)
        return len(captured)

    sync = crawled(acme, pages)
    assert queries(acme.website) == queries(sync.website)


def test_a_website_that_is_removed_can_be_added_again_at_once(acme: World, pages: Site) -> None:
    removed = crawled(acme, pages)
    websites.remove(removed.website)
    again = crawled(acme, pages)
    assert (again.state, again.added) == (State.COMPLETE, 10)
    while purge():
        pass
    assert len(documents(again.website, pages)) == 10
    assert finish(again.website).unchanged == 10


@pytest.mark.django_db(transaction=True)
def test_a_website_is_removed_while_a_worker_crawls_it_and_nothing_comes_back(
    acme: World, pages: Site
) -> None:
    made = website(acme, pages)
    sync = made.syncs.get()
    removed: list[bool] = []

    def answer(request: Request) -> None:
        """The fifth page is on its way when the website goes."""
        if not removed:
            removed.append(True)
            apart = threading.Thread(target=remove_apart, args=(made,))
            apart.start()
            apart.join()
        request.answer(200, html("Konu", f"Burada {request.path} anlatılır."))

    pages.pages["/s4"] = answer
    assert crawl(sync.pk) is None
    assert removed
    assert not Website.objects.filter(pk=made.pk).exists()
    assert not Page.objects.filter(website=made.pk).exists()
    assert documents(made, pages) == set()
    assert not IngestionJob.objects.filter(
        document__uri__startswith="http", state__in=IngestionJob.OPEN
    ).exists()


def remove_apart(website: Website) -> None:
    try:
        websites.remove(website)
    finally:
        connection.close()


def test_a_deleted_document_comes_back_with_the_next_sync(acme: World, pages: Site) -> None:
    from ingestion.documents import delete

    sync = crawled(acme, pages)
    delete(Document.objects.get(uri=pages.url("/s1")))
    again = finish(sync.website)
    assert (again.added, again.unchanged) == (1, 9)


def test_a_document_deleted_in_the_middle_of_a_sync_does_not_stop_it(
    acme: World, pages: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ingestion.documents import delete

    sync = crawled(acme, pages)
    real = crawling.settle

    def settle(walk: Any, page: Page, outcome: Any) -> None:
        if page.url.endswith("/s4"):
            delete(Document.objects.get(uri=page.url))
        real(walk, page, outcome)

    monkeypatch.setattr(crawling, "settle", settle)
    assert finish(sync.website).state == State.COMPLETE
    assert "/s4" not in documents(sync.website, pages)
    monkeypatch.setattr(crawling, "settle", real)
    assert finish(sync.website).added == 1


@pytest.mark.parametrize(
    "url",
    ["", "x", "ftp://a.example/", "http://u:p@a.example/", "http://a.example:25/", "http://\0/"],
)
def test_a_website_needs_an_address_that_can_be_crawled(acme: World, url: str) -> None:
    with pytest.raises(UrlRefused):
        websites.create(acme.agent, url)


@pytest.mark.parametrize(
    "url, entry", [("http://127.0.0.1/", "127.0.0.1:80"), ("https://localhost/", "localhost:443")]
)
def test_a_website_in_a_private_network_is_refused_before_it_is_made(
    acme: World, url: str, entry: str
) -> None:
    with pytest.raises(AddressRefused, match=f"CRAWL_ALLOWED_HOSTS={entry}"):
        websites.create(acme.agent, url)
    assert not Website.objects.filter(url=url).exists()


def test_a_port_that_is_not_crawled_names_what_allows_it(acme: World) -> None:
    with pytest.raises(UrlRefused, match=r"CRAWL_ALLOWED_HOSTS=127\.0\.0\.1:8139"):
        websites.create(acme.agent, "http://127.0.0.1:8139/")


# The schedule


def test_a_website_is_synced_again_when_it_is_due(acme: World, pages: Site) -> None:
    sync = crawled(acme, pages, every_hours=24)
    made = Website.objects.get(pk=sync.website.pk)
    assert made.next_sync_at is not None
    assert timedelta(hours=23) < made.next_sync_at - timezone.now() <= timedelta(hours=24)
    tasks.sweep_websites()
    assert made.syncs.count() == 1
    Website.objects.filter(pk=made.pk).update(next_sync_at=timezone.now())
    tasks.sweep_websites()
    tasks.sweep_websites()
    assert made.syncs.count() == 2
    made.refresh_from_db()
    assert made.next_sync_at is not None
    assert made.next_sync_at > timezone.now()


def test_a_sync_that_nobody_works_on_is_sent_again(acme: World, pages: Site) -> None:
    made = website(acme, pages)
    assert tasks.sweep_websites() == 0
    long_ago = timezone.now() - timedelta(hours=1)
    Sync.objects.filter(website=made).update(heard_at=long_ago)
    assert tasks.sweep_websites() == 1
    Sync.objects.filter(website=made).update(not_before=timezone.now() + timedelta(hours=1))
    assert tasks.sweep_websites() == 0


def test_the_task_of_a_slice_sends_the_next_one(
    acme: World, pages: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = website(acme, pages)
    sent: list[float] = []
    monkeypatch.setattr(tasks, "enqueue", lambda sync, seconds: sent.append(seconds))
    monkeypatch.setattr(crawling, "SLICE_SECONDS", 0.0)
    tasks.crawl_website(str(made.syncs.get().pk))
    assert sent == [0.0]
    monkeypatch.setattr(crawling, "SLICE_SECONDS", 20.0)
    tasks.crawl_website(str(made.syncs.get().pk))
    assert sent == [0.0]
    assert made.syncs.get().state == State.COMPLETE


# Over HTTP


def post(world: World, path: str, body: Any = None) -> Any:
    return world.client.post(V1 + path, body or {}, content_type="application/json")


def test_a_website_is_added_shown_changed_and_removed(acme: World, pages: Site) -> None:
    body = {"url": pages.url("/"), "exclude": ["/s1"], "delay": 0, "every_hours": 12}
    answer = post(acme, f"/agents/{acme.agent.pk}/websites", body)
    assert answer.status_code == 201
    shown = answer.json()
    assert (shown["url"], shown["exclude"], shown["every_hours"]) == (pages.url("/"), ["/s1"], 12)
    path = f"{V1}/websites/{shown['id']}"
    assert acme.client.get(path).json() == shown
    listed = acme.client.get(f"{V1}/agents/{acme.agent.pk}/websites").json()["results"]
    assert [one["id"] for one in listed] == [shown["id"], str(acme.website.pk)]
    changed = acme.client.patch(path, {"every_hours": None}, content_type="application/json")
    assert (changed.json()["every_hours"], changed.json()["next_sync_at"]) == (None, None)
    assert acme.client.delete(path).status_code == 204
    assert refusal(acme.client.get(path)) == (404, "not_found")


def test_a_website_is_added_once(acme: World, pages: Site) -> None:
    path = f"/agents/{acme.agent.pk}/websites"
    assert post(acme, path, {"url": pages.url("/")}).status_code == 201
    again = post(acme, path, {"url": pages.url("/?utm_source=x#top")})
    assert refusal(again) == (409, "website_exists")


@pytest.mark.parametrize(
    "body, code",
    [
        ({}, "invalid_input"),
        ({"url": 5}, "invalid_input"),
        ({"url": "nonsense"}, "url_refused"),
        ({"url": "http://a.example:22/"}, "url_refused"),
        ({"url": "http://a.example/", "include": ["help"]}, "bad_pattern"),
        ({"url": "http://a.example/", "include": "help"}, "invalid_input"),
        ({"url": "http://a.example/", "page_limit": 0}, "invalid_input"),
        ({"url": "http://a.example/", "page_limit": "9"}, "invalid_input"),
        ({"url": "http://a.example/", "delay": -1}, "invalid_input"),
        ({"url": "http://a.example/", "delay": "1"}, "invalid_input"),
        ({"url": "http://a.example/", "every_hours": 0}, "invalid_input"),
        ({"url": "http://a.example/", "colour": "red"}, "invalid_input"),
    ],
)
def test_a_wrong_website_is_named(acme: World, body: dict[str, Any], code: str) -> None:
    assert refusal(post(acme, f"/agents/{acme.agent.pk}/websites", body)) == (400, code)


@pytest.mark.parametrize("delay", ["1" + "0" * 400, "1e400", "-1"])
def test_a_delay_that_is_no_number_of_seconds_is_refused(acme: World, delay: str) -> None:
    response = acme.client.post(
        f"{V1}/agents/{acme.agent.pk}/websites",
        f'{{"url": "http://a.example/", "delay": {delay}}}',
        content_type="application/json",
    )
    assert refusal(response) == (400, "invalid_input")


def test_pages_with_long_addresses_are_paged(acme: World) -> None:
    base = f"{acme.website.url.rstrip('/')}/{'a' * 900}"
    acme.website.pages.all().delete()
    for name in ("1", "2", "3"):
        Page.objects.create(
            tenant=acme.tenant, agent=acme.agent, website=acme.website, url=base + name, seen=1
        )
    address = f"{V1}/websites/{acme.website.pk}/pages"
    found: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": 1} | ({"cursor": cursor} if cursor else {})
        answer = acme.client.get(address, query).json()
        found += [row["url"] for row in answer["results"]]
        cursor = answer["next"]
    assert found == [base + "1", base + "2", base + "3"]


def test_the_history_and_the_pages_are_shown(acme: World, pages: Site) -> None:
    pages.pages["/s3"] = "<html><div id='app'></div><script src='x'></script></html>"
    sync = crawled(acme, pages)
    path = f"/websites/{sync.website.pk}"
    assert post(acme, f"{path}/syncs").status_code == 202
    assert refusal(post(acme, f"{path}/syncs")) == (409, "sync_at_work")
    listed = acme.client.get(f"{V1}{path}/syncs").json()["results"]
    assert [one["number"] for one in listed] == [2, 1]
    assert listed[1]["failed"] == {"needs_javascript": 1}
    assert (listed[1]["state"], listed[1]["added"], listed[1]["error"]) == ("complete", 9, None)
    assert acme.client.get(f"{V1}/syncs/{sync.pk}").json() == listed[1]
    found = acme.client.get(f"{V1}{path}/pages", {"code": "needs_javascript"}).json()["results"]
    assert [one["url"] for one in found] == [pages.url("/s3")]
    first = acme.client.get(f"{V1}{path}/pages", {"limit": 4}).json()
    rest = acme.client.get(f"{V1}{path}/pages", {"cursor": first["next"]}).json()
    assert len(first["results"]) + len(rest["results"]) == 10


def test_a_sync_is_paused_resumed_and_cancelled(acme: World, pages: Site) -> None:
    sync = website(acme, pages).syncs.get()
    for act, state in [("pause", "paused"), ("resume", "queued"), ("cancel", "cancelled")]:
        assert post(acme, f"/syncs/{sync.pk}/{act}").json()["state"] == state
    assert refusal(post(acme, f"/syncs/{sync.pk}/pause")) == (409, "sync_finished")


# From a terminal


def test_the_command_crawls_and_crawls_again(
    acme: World, pages: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.management.commands.crawl.WORKER_SECONDS", 0.01)
    out = StringIO()
    call_command("crawl", "acme/help", pages.url("/"), "--delay", "0", stdout=out)
    call_command("crawl", "acme/help", pages.url("/"), stdout=out)
    lines = [line.split() for line in out.getvalue().splitlines()]
    assert ["added", "10"] in lines
    assert ["unchanged", "10"] in lines
    assert Website.objects.get(url=pages.url("/")).delay == 0


def test_the_command_names_what_is_wrong(acme: World) -> None:
    with pytest.raises(CommandError, match="url_refused"):
        call_command("crawl", "acme/help", "nonsense")
    with pytest.raises(CommandError, match="not_found"):
        call_command("crawl", "acme/nobody", "http://a.example/")
    with pytest.raises(CommandError, match=r"address_refused.*ED_HOSTS=127\.0\.0\.1:80"):
        call_command("crawl", "acme/help", "http://127.0.0.1/")


def test_the_command_says_that_a_failed_website_stays_and_removes_it(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.management.commands.crawl.WORKER_SECONDS", 0.01)
    site.pages["/"] = status(404)
    with pytest.raises(CommandError) as raised:
        call_command("crawl", "acme/help", site.url("/"), "--delay", "0", stdout=StringIO())
    why, advice = str(raised.value).splitlines()
    assert why.startswith("failed: start_failed")
    assert advice == (
        "The website stays registered. To remove it with its documents: "
        f"manage.py crawl acme/help {site.url('/')} --remove"
    )
    out = StringIO()
    call_command("crawl", "acme/help", site.url("/"), "--remove", stdout=out)
    assert "was removed, with its documents." in out.getvalue()
    assert not Website.objects.filter(url=site.url("/")).exists()
    with pytest.raises(CommandError, match="no such website"):
        call_command("crawl", "acme/help", site.url("/"), "--remove")


@pytest.mark.parametrize(
    "option, value, code",
    [
        ("--pages", "0", "invalid_input"),
        ("--pages", "99999999999999", "invalid_input"),
        ("--depth", "-1", "invalid_input"),
        ("--delay", "-1", "invalid_input"),
        ("--delay", "nan", "invalid_input"),
        ("--delay", "inf", "invalid_input"),
        ("--every", "0", "invalid_input"),
        ("--every", "99999999", "invalid_input"),
        ("--include", "/" + "a" * 500, "bad_pattern"),
        ("--exclude", "/\udcfe", "bad_pattern"),
    ],
)
def test_the_command_bounds_what_it_is_told(
    acme: World, pages: Site, option: str, value: str, code: str
) -> None:
    before = Website.objects.count()
    with pytest.raises(CommandError, match=code):
        call_command("crawl", "acme/help", pages.url("/"), f"{option}={value}")
    assert Website.objects.count() == before
    made = website(acme, pages)
    with pytest.raises(CommandError, match=code):
        call_command("crawl", "acme/help", made.url, f"{option}={value}")


@pytest.mark.parametrize("url", ["http://a.example/\udcfe", "http://\ud800.example/", "http://[/"])
def test_the_command_refuses_an_address_that_is_no_text(acme: World, url: str) -> None:
    with pytest.raises(CommandError, match="url_refused"):
        call_command("crawl", "acme/help", url)


def test_the_command_fails_when_the_start_could_not_be_read(
    acme: World, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.management.commands.crawl.WORKER_SECONDS", 0.01)
    site.pages["/robots.txt"] = "Sitemap: " + site.url("/sitemap.xml")
    site.pages["/sitemap.xml"] = site.url("/s1")
    site.pages["/s1"] = html("Konu", "Bu sayfa okunur, başlangıç okunmaz.")
    with pytest.raises(CommandError, match=r"partial: start_failed .*http_404"):
        call_command("crawl", "acme/help", site.url("/"), "--delay", "0", stdout=StringIO())


def test_each_act_on_a_sync_has_its_own_summary() -> None:
    from drf_spectacular.generators import SchemaGenerator

    paths = SchemaGenerator().get_schema(request=None, public=True)["paths"]
    acts = [f"{V1}/syncs/{{sync_id}}/{act}" for act in ("cancel", "pause", "resume")]
    assert len({paths[act]["post"]["summary"] for act in acts}) == 3
