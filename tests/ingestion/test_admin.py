"""What the web admin shows of documents and jobs."""

from __future__ import annotations

import pytest
from django.test import Client

from tenants.models import User
from tests.factories import World, make_document, make_job

TEXTS = ["İade süresi 14 gündür.", "Kargo ücreti 50 liradır.", "Mağaza pazar günü kapalıdır."]


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root@dolphy.example", "secret"))
    return client


def test_the_admin_shows_where_the_same_text_stands(acme: World, staff: Client) -> None:
    document = make_document(
        acme.agent,
        "a.md",
        TEXTS,
        report={"pages": None, "tables": 2, "warnings": ["<b>dikkat</b>"]},
    )
    other = make_document(acme.agent, "b.md", TEXTS[:2], title="<i>İade</i>")
    page = staff.get(f"/admin/ingestion/document/{document.pk}/change/").content.decode()
    assert f"/admin/ingestion/document/{other.pk}/change/" in page
    assert "2 of 3 passages, b.md" in page
    assert "&lt;i&gt;İade&lt;/i&gt;" in page and "&lt;b&gt;dikkat&lt;/b&gt;" in page
    assert "<th>tables</th><td>2</td>" in page and "<th>pages</th>" not in page


def test_the_admin_shows_how_far_a_job_is(acme: World, staff: Client) -> None:
    make_job(acme.document, "paused", stage="parsing", done=297, total=1001)
    page = staff.get("/admin/ingestion/ingestionjob/").content.decode()
    assert "297 of 1,001 pages" in page


def test_the_admin_says_why_a_document_failed_and_leads_to_its_job(
    acme: World, staff: Client
) -> None:
    document = make_document(acme.agent, "broken.pdf", TEXTS[:1])
    why = {"error_code": "broken_file", "error": "The file is <damaged>."}
    job = make_job(document, "failed", **why)
    page = staff.get(f"/admin/ingestion/document/{document.pk}/change/").content.decode()
    assert f'<a href="/admin/ingestion/ingestionjob/{job.pk}/change/">failed' in page
    assert "<code>broken_file</code> The file is &lt;damaged&gt;." in page
    assert f"/admin/ingestion/passage/?document__id__exact={document.pk}" in page
    passages = staff.get(f"/admin/ingestion/passage/?document__id__exact={document.pk}")
    assert passages.status_code == 200 and "1 passage" in passages.content.decode()


def test_a_sync_is_shown_with_a_title_and_its_counts_by_code(acme: World, staff: Client) -> None:
    sync = acme.sync
    sync.failed, sync.skipped, sync.found = {"http_404": 2, "timeout": 1}, {}, 1040
    sync.robots = {"status": 200}
    sync.save()
    page = staff.get(f"/admin/ingestion/sync/{sync.pk}/change/").content.decode()
    assert f"<h1>Sync {sync.number} of {sync.website.url}</h1>" in page
    for name, count in (("found", "1,040"), ("failed", "3"), ("failed: http_404", "2")):
        assert f"<th>{name}</th><td>{count}</td>" in page
    assert "<th>skipped</th><td>0</td>" in page
    assert "<details>" in page
    listed = staff.get("/admin/ingestion/sync/").content.decode()
    assert 'field-pages_failed">3<' in listed


def test_a_website_leads_to_its_syncs_and_pages(acme: World, staff: Client) -> None:
    website = acme.website
    website.boilerplate = [{"text": "<b>Menü</b>", "pages": 12}]
    website.save()
    page = staff.get(f"/admin/ingestion/website/{website.pk}/change/").content.decode()
    assert "<th>&lt;b&gt;Menü&lt;/b&gt;</th><td>12 pages</td>" in page
    for rows in ("sync", "page"):
        address = f"/admin/ingestion/{rows}/?website__id__exact={website.pk}"
        assert address in page and staff.get(address).status_code == 200


def test_the_admin_begins_with_a_way_to_the_backends_health(staff: Client) -> None:
    assert 'href="/backend-health"' in staff.get("/admin/").content.decode()
