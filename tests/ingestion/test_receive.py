"""Uploads: what is let in, what changes nothing, and what happens when two come at once."""

from __future__ import annotations

import io
import threading
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection

from dolphy.errors import NotFound
from ingestion.cancel import cancel
from ingestion.embed import KEPT_UNDER
from ingestion.errors import BadName, FileMissing, TooLarge
from ingestion.ingest import ingest
from ingestion.models import Document, IngestionJob
from ingestion.parsing import (
    BrokenFile,
    EmptyFile,
    NoContent,
    TooManyFiles,
    UnsupportedMediaType,
)
from ingestion.pause import pause
from ingestion.receive import clean_name, clean_uri, receive, receive_again, retry
from ingestion.unpack import MOST_FILES, Received, receive_any
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer
from tests.factories import ingest_text, make_agent

State = IngestionJob.State


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer) -> Agent:
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


def upload(agent: Agent, text: str, name: str = "iade.md") -> IngestionJob:
    return receive(agent, name=name, data=text.encode())


# What changes nothing


def test_the_same_bytes_while_at_work_are_the_same_job(agent: Agent) -> None:
    first = upload(agent, "# A\n\nmetin")
    assert upload(agent, "# A\n\nmetin") == first
    pause(first)
    assert upload(agent, "# A\n\nmetin") == first


def test_the_same_bytes_once_served_are_the_same_job(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    ingest_text(agent, "iade.md", "# A\n\nmetin")
    job = upload(agent, "# A\n\nmetin")
    assert job.state == State.SUCCEEDED
    assert IngestionJob.objects.count() == 1


def test_the_same_bytes_after_a_failure_are_tried_again(agent: Agent) -> None:
    first = upload(agent, "# Only a heading")
    ingest(first.pk)
    second = upload(agent, "# Only a heading")
    assert second != first
    assert second.state == State.QUEUED


def test_going_back_to_an_older_version_is_a_new_version(agent: Agent) -> None:
    for text in ("# A\n\nbir", "# A\n\niki", "# A\n\nbir"):
        ingest_text(agent, "iade.md", text)
    document = Document.objects.get()
    assert document.passages.get().text == "bir"
    assert IngestionJob.objects.count() == 3


# A newer version


@pytest.mark.parametrize("act", [lambda job: None, lambda job: job.start(), pause])
def test_a_newer_version_cancels_the_unfinished_older_one(
    agent: Agent, act: Callable[[IngestionJob], Any]
) -> None:
    old = upload(agent, "# A\n\nbir")
    act(old)
    new = upload(agent, "# A\n\niki")
    old.refresh_from_db()
    assert (old.state, new.state) == (State.CANCELLED, State.QUEUED)
    assert new.document == old.document


def test_what_was_kept_beside_an_overtaken_job_goes_with_it(agent: Agent) -> None:
    from dolphy.cache import valkey

    old = upload(agent, "# A\n\nbir")
    valkey().hset(f"{KEPT_UNDER}{old.pk}", "key", "value")
    upload(agent, "# A\n\niki")
    assert not valkey().exists(f"{KEPT_UNDER}{old.pk}")


def test_stored_bytes_are_ingested_again(agent: Agent, embedding_server: EmbeddingServer) -> None:
    document = ingest_text(agent, "iade.md", "# A\n\nbir")
    embedding_server.forget()
    job = receive_again(document, "iade.md", document.file)
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED
    assert embedding_server.embedded == []
    with pytest.raises(FileMissing):
        receive_again(document, "iade.md", "no/such/file")


def test_a_job_of_a_deleted_document_is_not_retried(agent: Agent) -> None:
    job = upload(agent, "# A\n\nbir")
    cancel(job)
    Document.objects.all().delete()
    with pytest.raises(NotFound):
        retry(job)


# At the same time


def at_once(*acts: Callable[[], Any]) -> list[Any]:
    results: list[Any] = []
    start = threading.Barrier(len(acts))

    def run(act: Callable[[], Any]) -> None:
        try:
            start.wait()
            results.append(act())
        except Exception as error:
            results.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=run, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return results


@pytest.mark.django_db(transaction=True)
def test_the_same_upload_twice_at_once_is_one_job(agent: Agent) -> None:
    jobs = at_once(*[lambda: upload(agent, "# A\n\nmetin")] * 4)
    assert len({job.pk for job in jobs}) == 1
    assert Document.objects.count() == IngestionJob.objects.count() == 1


@pytest.mark.django_db(transaction=True)
def test_of_different_versions_at_once_one_is_left_to_do(agent: Agent) -> None:
    at_once(*[lambda n=n: upload(agent, f"# A\n\nmetin {n}") for n in range(4)])
    assert Document.objects.count() == 1
    states = list(IngestionJob.objects.order_by("created_at").values_list("state", flat=True))
    assert states == [State.CANCELLED] * 3 + [State.QUEUED]


# Refusals


@pytest.mark.parametrize(
    "data, name, error",
    [
        (b"", "a.md", EmptyFile),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "resim.txt", UnsupportedMediaType),
        (b"x" * 2000, "a.txt", TooLarge),
        (b"metin", "..", BadName),
        (b"metin", "\0\u202e", BadName),
        (b"metin", "\udcfeade.txt", BadName),
    ],
)
def test_what_is_refused_leaves_nothing(
    agent: Agent, settings: Any, data: bytes, name: str, error: type[Exception]
) -> None:
    settings.MAX_UPLOAD_BYTES = 1000
    with pytest.raises(error):
        receive(agent, name=name, data=data)
    assert not Document.objects.exists()
    assert not default_storage.exists(str(agent.tenant_id))


@pytest.mark.parametrize(
    "given, kept",
    [
        ("C:\\Belgeler\\iade.pdf", "iade.pdf"),
        ("../../etc/passwd", "passwd"),
        ("ia\u202ede.md", "iade.md"),
        ("iade\n koşulları.md", "iade koşulları.md"),
    ],
)
def test_a_name_is_the_last_part_without_marks(given: str, kept: str) -> None:
    assert clean_name(given) == kept


def test_an_address_is_kept_without_marks() -> None:
    assert clean_uri(" \u202ehttps://acme.example/\u200biade\n") == "https://acme.example/iade"


@pytest.mark.parametrize("uri", ["\u202e", "\u200b \ufeff", "\udcfeade.txt", "a" * 1001])
def test_an_address_of_marks_alone_or_of_no_text_is_refused(uri: str) -> None:
    with pytest.raises(BadName):
        clean_uri(uri)


# Archives


def archive(**members: bytes) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        for name, data in members.items():
            file.writestr(name, data)
    return buffer.getvalue()


def send(agent: Agent, data: bytes, name: str = "kit.zip", **options: Any) -> Received:
    return receive_any(agent, name=name, data=data, **options)


def test_each_member_of_an_archive_is_a_document_of_its_own(agent: Agent) -> None:
    data = archive(**{"iade.md": b"# A\n\nbir", "alt/kargo.txt": b"Kargo bedava."})
    received = send(agent, data)
    assert [job.document.uri for job in received.jobs] == [
        "kit.zip/iade.md",
        "kit.zip/alt/kargo.txt",
    ]
    assert [job.name for job in received.jobs] == ["iade.md", "kargo.txt"]
    assert received.refused == []
    for job in received.jobs:
        ingest(job.pk)
        job.refresh_from_db()
        assert job.state == State.SUCCEEDED


def test_a_newer_archive_brings_new_versions(agent: Agent) -> None:
    first = send(agent, archive(**{"a.md": b"# A\n\nbir", "b.md": b"# B\n\nbir"}))
    second = send(agent, archive(**{"a.md": b"# A\n\niki", "b.md": b"# B\n\nbir"}))
    assert Document.objects.count() == 2
    assert [a == b for a, b in zip(first.jobs, second.jobs, strict=True)] == [False, True]


def test_what_is_wrong_with_one_member_keeps_no_other_out(agent: Agent) -> None:
    data = archive(
        **{
            "iyi.md": b"# A\n\nbir",
            "resim.png": b"\x89PNG\r\n\x1a\n" + bytes(100),
            "bos.txt": b"",
            "ic.zip": archive(**{"x.md": b"# X"}),
            "bozuk.txt": b"bozulacak",
            "son.md": b"# B\n\niki",
        }
    ).replace(b"bozulacak", b"bozuldu!!", 1)  # its checksum does not fit any more
    received = send(agent, data)
    assert [job.document.uri for job in received.jobs] == ["kit.zip/iyi.md", "kit.zip/son.md"]
    assert {uri.split("/")[1]: error.code for uri, error in received.refused} == {
        "resim.png": "unsupported_media_type",
        "bos.txt": "empty_file",
        "ic.zip": "too_complex",
        "bozuk.txt": "broken_file",
    }


def test_an_archive_has_an_address_of_its_own(agent: Agent) -> None:
    received = send(agent, archive(**{"a.md": b"# A\n\nbir"}), uri="yardim")
    assert received.jobs[0].document.uri == "yardim/a.md"


def test_an_archive_that_is_broken_or_holds_nothing_is_refused_whole(agent: Agent) -> None:
    with pytest.raises(BrokenFile):
        send(agent, archive(**{"a.md": b"# A\n\nbir" * 50})[:80])
    with pytest.raises(NoContent):
        send(agent, archive(**{"__MACOSX/a": b"x"}))
    assert not Document.objects.exists()


def test_an_archive_of_more_files_than_are_received_at_once_is_refused_whole(agent: Agent) -> None:
    data = archive(**{f"{n}.md": b"# A" for n in range(MOST_FILES + 1)})
    with pytest.raises(TooManyFiles) as caught:
        send(agent, data)
    assert (caught.value.code, caught.value.context["limit"]) == ("too_many_files", MOST_FILES)
    assert not Document.objects.exists()


def test_a_limit_counts_documents_and_not_folders(agent: Agent) -> None:
    data = archive(**{"alt/": b"", "alt/a.md": b"# A", "alt/.x": b"", "alt/b.md": b"# B"})
    assert len(send(agent, data, most=2).jobs) == 2
    assert len(send(agent, data, most=None).jobs) == 2
    with pytest.raises(TooManyFiles):
        send(agent, data, most=1)


def test_what_is_no_archive_is_received_as_it_is(agent: Agent) -> None:
    received = send(agent, b"# A\n\nbir", name="a.md", title="Ad")
    assert [job.document.given_title for job in received.jobs] == ["Ad"]


def test_an_archive_is_no_document(agent: Agent) -> None:
    with pytest.raises(UnsupportedMediaType):
        receive(agent, name="kit.zip", data=archive(**{"a.md": b"# A"}))
