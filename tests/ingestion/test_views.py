"""Documents and jobs over HTTP."""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import Any
from uuid import uuid4
from zipfile import ZipFile

import pytest
from django.core.files.storage import default_storage
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import AsyncRequestFactory

from ingestion.models import Document, IndexedPassage, IngestionJob
from ingestion.views import StoredFile
from tests.factories import World, make_document, make_job

V1 = "/api/v1"
MARKDOWN = "# İade\n\nÜrünleri 14 gün içinde iade edebilirsiniz.\n".encode()


def upload(world: World, name: str = "yeni.md", data: bytes = MARKDOWN, **fields: str) -> Any:
    file = SimpleUploadedFile(name, data)
    return world.client.post(f"{V1}/agents/{world.agent.pk}/documents", {"file": file, **fields})


def get(world: World, path: str, **query: Any) -> Any:
    return world.client.get(V1 + path, query)


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


# Upload


def test_an_upload_answers_with_its_document_and_its_job(acme: World) -> None:
    response = upload(acme, uri="https://acme.example/iade", title="İade koşulları")
    assert response.status_code == 202
    document, job = response.json()["document"], response.json()["job"]
    assert document["uri"] == "https://acme.example/iade"
    assert document["state"] == "waiting"
    assert (job["state"], job["stage"], job["error"]) == ("queued", "received", None)
    assert job["document"] == document["id"]
    assert get(acme, f"/jobs/{job['id']}").json() == job
    assert document["title"] == "İade koşulları"
    whole = get(acme, f"/documents/{document['id']}").json()
    assert whole.pop("last_job")["id"] == job["id"]
    assert whole == document


def test_a_job_says_what_its_progress_counts(acme: World) -> None:
    reading = make_job(acme.document, "paused", stage="parsing", done=40, total=1000)
    embedding = make_job(acme.document, "paused", stage="embedding", done=3, total=8)
    shown = [get(acme, f"/jobs/{job.pk}").json() for job in (reading, embedding)]
    assert [(one["done"], one["total"], one["unit"]) for one in shown] == [
        (40, 1000, "pages"), (3, 8, "passages")
    ]  # fmt: skip


def test_an_upload_without_a_uri_is_known_by_its_name(acme: World) -> None:
    assert upload(acme, name="teslimat.md").json()["document"]["uri"] == "teslimat.md"


def test_the_same_bytes_again_are_the_same_job(acme: World) -> None:
    assert upload(acme).json()["job"] == upload(acme).json()["job"]


def test_an_upload_without_a_file_says_so(acme: World) -> None:
    response = acme.client.post(f"{V1}/agents/{acme.agent.pk}/documents", {"title": "x"})
    assert refusal(response) == (400, "invalid_input")
    assert "file" in response.json()["error"]["fields"]


def test_an_upload_of_json_is_the_wrong_kind_of_body(acme: World) -> None:
    response = acme.client.post(
        f"{V1}/agents/{acme.agent.pk}/documents", {"file": "x"}, content_type="application/json"
    )
    assert refusal(response) == (415, "unsupported_media_type")


def test_an_upload_whose_multipart_is_broken_is_malformed(acme: World) -> None:
    response = acme.client.post(
        f"{V1}/agents/{acme.agent.pk}/documents", b"nonsense", content_type="multipart/form-data"
    )
    assert refusal(response) == (400, "malformed")


def test_an_empty_file_is_refused_by_name(acme: World) -> None:
    response = upload(acme, data=b"")
    assert response.status_code in {400, 415, 422}
    assert response.json()["error"]["code"] != "invalid_input"
    assert not Document.objects.filter(uri="yeni.md").exists()


def test_a_file_that_is_announced_too_large_is_refused_unread(
    acme: World, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MAX_UPLOAD_BYTES = 1000

    def unread(*args: object) -> None:
        raise AssertionError("the body was read")

    monkeypatch.setattr("django.http.multipartparser.MultiPartParser.parse", unread)
    assert refusal(upload(acme, data=b"x" * 100_000)) == (413, "too_large")
    assert not Document.objects.filter(uri="yeni.md").exists()


def test_a_file_just_above_the_limit_is_too_large(acme: World, settings: Any) -> None:
    settings.MAX_UPLOAD_BYTES = 1000
    assert refusal(upload(acme, data=b"x" * 1001)) == (413, "too_large")
    assert upload(acme, data=b"x y " * 250).status_code == 202


def test_an_upload_that_hides_its_size_is_refused(acme: World) -> None:
    response = acme.client.post(
        f"{V1}/agents/{acme.agent.pk}/documents",
        headers={"Transfer-Encoding": "chunked"},
        CONTENT_LENGTH="",
    )
    assert refusal(response) == (411, "length_required")


@pytest.mark.parametrize(
    "fields", [{"uri": "a\0b"}, {"title": "a\0b"}, {"uri": "x" * 1001}, {"titel": "typing slip"}]
)
def test_a_wrong_field_of_an_upload_is_named(acme: World, fields: dict[str, str]) -> None:
    response = upload(acme, **fields)
    assert refusal(response) == (400, "invalid_input")
    assert set(response.json()["error"]["fields"]) == set(fields)


# Lists


def test_a_list_pages_through_everything_once(acme: World) -> None:
    made = [acme.document, *(make_document(acme.agent, f"{n}.md", ["x"]) for n in range(5))]
    seen: list[str] = []
    query: dict[str, Any] = {"limit": 2}
    while True:
        answer = get(acme, f"/agents/{acme.agent.pk}/documents", **query).json()
        seen += [row["id"] for row in answer["results"]]
        if answer["next"] is None:
            break
        query["cursor"] = answer["next"]
    assert seen == [str(document.pk) for document in reversed(made)]


def test_rows_of_the_same_moment_are_all_listed(acme: World) -> None:
    for number in range(5):
        make_document(acme.agent, f"{number}.md", ["x"])
    Document.objects.update(created_at=acme.document.created_at)
    first = get(acme, f"/agents/{acme.agent.pk}/documents", limit=3).json()
    second = get(acme, f"/agents/{acme.agent.pk}/documents", cursor=first["next"]).json()
    assert len({row["id"] for row in first["results"] + second["results"]}) == 6


def test_a_list_costs_the_same_queries_however_long(
    acme: World, django_assert_num_queries: Any
) -> None:
    for number in range(5):
        make_job(make_document(acme.agent, f"{number}.md", ["x"]))
    get(acme, "/agents")
    for what in ("documents", "jobs"):
        with django_assert_num_queries(3):  # key, agent, rows
            assert len(get(acme, f"/agents/{acme.agent.pk}/{what}").json()["results"]) >= 6


def test_documents_are_filtered_by_state(acme: World) -> None:
    failed = Document.objects.create(
        tenant=acme.tenant, agent=acme.agent, uri="kotu.pdf", state=Document.State.ATTENTION
    )
    answer = get(acme, f"/agents/{acme.agent.pk}/documents", state="attention").json()
    assert [row["id"] for row in answer["results"]] == [str(failed.pk)]


def test_a_document_by_itself_says_why_its_last_job_failed(acme: World) -> None:
    make_job(acme.document, "succeeded")
    why = {"error_code": "broken_file", "error": "The file is damaged."}
    job = make_job(acme.document, "failed", **why)
    last = get(acme, f"/documents/{acme.document.pk}").json()["last_job"]
    assert (last["id"], last["state"]) == (str(job.pk), "failed")
    assert last["error"] == {"code": "broken_file", "message": "The file is damaged."}


def test_jobs_are_filtered_by_state_and_document(acme: World) -> None:
    failed = make_job(acme.document, "failed", error_code="garbled", error="Unreadable.")
    other = make_job(make_document(acme.agent, "b.md", ["x"]))
    by_state = get(acme, f"/agents/{acme.agent.pk}/jobs", state="failed").json()["results"]
    assert [row["id"] for row in by_state] == [str(failed.pk)]
    assert by_state[0]["error"] == {"code": "garbled", "message": "Unreadable."}
    path = f"/agents/{acme.agent.pk}/jobs"
    by_document = get(acme, path, document=other.document_id).json()["results"]
    assert [row["id"] for row in by_document] == [str(other.pk)]


@pytest.mark.parametrize(
    "query",
    [
        {"cursor": "nonsense"},
        {"cursor": "WzEsMl0"},
        {"cursor": "WyIyMDI2LTAxLTAxIiwieCJd"},
        {"cursor": "é"},
        {"cursor": "a" * 400},
        {"cursor": "a\0"},
        {"limit": 0},
        {"limit": 201},
        {"limit": "many"},
        {"state": "fine"},
        {"stat": "ready"},
    ],
)
def test_a_wrong_query_is_named(acme: World, query: dict[str, Any]) -> None:
    response = get(acme, f"/agents/{acme.agent.pk}/documents", **query)
    assert refusal(response) == (400, "invalid_input")
    assert set(response.json()["error"]["fields"]) == set(query)


def test_passages_come_in_the_order_of_the_document(acme: World) -> None:
    document = make_document(acme.agent, "long.md", [f"Bölüm {n}." for n in range(5)])
    first = get(acme, f"/documents/{document.pk}/passages", limit=3).json()
    rest = get(acme, f"/documents/{document.pk}/passages", cursor=first["next"]).json()
    texts = [row["text"] for row in first["results"] + rest["results"]]
    assert texts == [f"Bölüm {n}." for n in range(5)]
    assert rest["next"] is None


# The file


def test_the_file_comes_back_byte_for_byte_as_an_attachment(acme: World) -> None:
    response = get(acme, f"/documents/{acme.document.pk}/file")
    with default_storage.open(acme.document.file) as file:
        assert b"".join(response.streaming_content) == file.read()
    assert response["Content-Disposition"] == 'attachment; filename="iade.md"'
    assert response["X-Content-Type-Options"] == "nosniff"
    assert "sandbox" in response["Content-Security-Policy"]


def test_a_document_without_a_file_has_none_to_give(acme: World) -> None:
    waiting = Document.objects.create(tenant=acme.tenant, agent=acme.agent, uri="bekliyor.md")
    assert refusal(get(acme, f"/documents/{waiting.pk}/file")) == (404, "not_found")
    default_storage.delete(acme.document.file)
    assert refusal(get(acme, f"/documents/{acme.document.pk}/file")) == (404, "not_found")


def test_the_name_of_a_file_cannot_break_the_header(acme: World) -> None:
    make_job(acme.document)
    IngestionJob.objects.update(name='ş"; x=\r\nSet-Cookie: a.md')
    response = get(acme, f"/documents/{acme.document.pk}/file")
    assert "Set-Cookie" not in response.headers
    assert "\n" not in response["Content-Disposition"]


def test_a_file_is_streamed_in_blocks_by_an_asynchronous_server(tmp_path: Any) -> None:
    path = tmp_path / "big"
    path.write_bytes(b"0123456789" * 100_000)

    async def blocks() -> list[bytes]:
        AsyncRequestFactory().get("/")
        return [block async for block in StoredFile(path.open("rb"))]

    got = asyncio.run(blocks())
    assert len(got) > 1
    assert b"".join(got) == path.read_bytes()


# Change


def test_disabling_and_enabling_answer_with_the_document(acme: World) -> None:
    path = f"{V1}/documents/{acme.document.pk}"
    assert acme.client.post(f"{path}/disable").json()["enabled"] is False
    assert not IndexedPassage.objects.filter(document=acme.document.pk, enabled=True).exists()
    assert acme.client.post(f"{path}/enable").json()["enabled"] is True
    changed = acme.client.patch(path, {"enabled": False}, content_type="application/json")
    assert changed.json()["enabled"] is False


def test_a_new_title_is_shown_at_once(acme: World) -> None:
    path = f"{V1}/documents/{acme.document.pk}"
    answer = acme.client.patch(path, {"title": " Yeni ad "}, content_type="application/json")
    assert answer.json()["title"] == "Yeni ad"
    assert get(acme, f"/documents/{acme.document.pk}").json()["title"] == "Yeni ad"


@pytest.mark.parametrize(
    "body",
    [
        {"enabled": "yes"},
        {"enabled": 1},
        {"enabled": None},
        {"title": 5},
        {"title": ""},
        {"title": "a\0"},
        {"title": "x" * 501},
        {"state": "ready"},
    ],
)
def test_a_wrong_change_is_named_and_changes_nothing(acme: World, body: dict[str, Any]) -> None:
    path = f"{V1}/documents/{acme.document.pk}"
    before = acme.client.get(path).json()
    response = acme.client.patch(path, body, content_type="application/json")
    assert refusal(response) == (400, "invalid_input")
    assert set(response.json()["error"]["fields"]) == set(body)
    assert acme.client.get(path).json() == before


def test_a_deleted_document_is_gone(acme: World) -> None:
    path = f"{V1}/documents/{acme.document.pk}"
    response = acme.client.delete(path)
    assert (response.status_code, response.content) == (204, b"")
    assert refusal(acme.client.get(path)) == (404, "not_found")
    assert refusal(acme.client.delete(path)) == (404, "not_found")
    assert refusal(get(acme, f"/jobs/{acme.job.pk}")) == (404, "not_found")


# Jobs


def test_a_queued_job_is_cancelled_once(acme: World) -> None:
    job = make_job(acme.document, "queued")
    path = f"{V1}/jobs/{job.pk}/cancel"
    answer = acme.client.post(path)
    assert (answer.status_code, answer.json()["state"]) == (200, "cancelled")
    assert refusal(acme.client.post(path)) == (409, "job_finished")


def test_a_failed_job_is_tried_again(acme: World) -> None:
    job = make_job(acme.document, "failed", error_code="x", error="y")
    answer = acme.client.post(f"{V1}/jobs/{job.pk}/retry")
    assert (answer.status_code, answer.json()["state"]) == (202, "queued")
    assert answer.json()["error"] is None
    assert refusal(acme.client.post(f"{V1}/jobs/{job.pk}/retry"))[0] == 409


def test_a_job_of_nobody_is_not_found(acme: World) -> None:
    assert refusal(get(acme, f"/jobs/{uuid4()}")) == (404, "not_found")


def test_a_job_is_paused_and_goes_on(acme: World) -> None:
    job = make_job(acme.document, "queued")
    path = f"{V1}/jobs/{job.pk}"
    assert acme.client.post(f"{path}/pause").json()["state"] == "paused"
    assert acme.client.post(f"{path}/resume").json()["state"] == "queued"
    assert refusal(acme.client.post(f"{path}/resume")) == (409, "job_not_paused")


def test_a_zip_is_received_member_by_member(acme: World) -> None:
    packed = BytesIO()
    with ZipFile(packed, "w") as archive:
        archive.writestr("iade/kosullar.md", "# Kosullar\n\nOn dort gun.")
        archive.writestr("bos.txt", "")
    packed.seek(0)
    packed.name = "belgeler.zip"
    answer = acme.client.post(f"{V1}/agents/{acme.agent.pk}/documents", {"file": packed})
    assert answer.status_code == 202
    received, refused = answer.json()["received"], answer.json()["refused"]
    assert [one["document"]["uri"] for one in received] == ["belgeler.zip/iade/kosullar.md"]
    assert [(one["uri"], one["code"]) for one in refused] == [
        ("belgeler.zip/bos.txt", "empty_file")
    ]


def test_a_download_has_a_plain_name_beside_the_true_one(acme: World) -> None:
    document = make_document(acme.agent, "çay üç.md", ["Çay."])
    found = acme.client.get(f"{V1}/documents/{document.pk}/file")["Content-Disposition"]
    assert 'filename="cay uc.md"' in found
    assert "filename*=utf-8''%C3%A7ay" in found


@pytest.mark.parametrize("title", ["\u202e", "\u200b \ufeff", "\ud800", "\0", 5, None])
def test_a_title_that_shows_nothing_is_refused(acme: World, title: Any) -> None:
    response = acme.client.patch(
        f"{V1}/documents/{acme.document.pk}", {"title": title}, content_type="application/json"
    )
    assert refusal(response) == (400, "invalid_input")


def test_a_title_is_kept_without_marks(acme: World) -> None:
    response = acme.client.patch(
        f"{V1}/documents/{acme.document.pk}",
        {"title": "\u202eİade\u200b koşulları"},
        content_type="application/json",
    )
    assert response.json()["title"] == "İade koşulları"
