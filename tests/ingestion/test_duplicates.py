"""A document says which others of its agent hold the same text, as of now."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from ingestion import documents, duplicates
from ingestion.duplicates import duplicates_of
from ingestion.models import Document
from tests.embedding_server import EmbeddingServer
from tests.factories import World, ingest_text, make_document

TEXTS = ["İade süresi 14 gündür.", "Kargo ücreti 50 liradır.", "Mağaza pazar günü kapalıdır."]


def found(document: Document) -> list[tuple[str, int]]:
    return [(one.uri, one.passages) for one in duplicates_of(document)]


def test_a_document_ingested_twice_names_its_other_on_both_sides(
    embedding_server: EmbeddingServer, acme: World
) -> None:
    text = "# İade\n\nİade süresi 14 gündür.\n\n# Kargo\n\nKargo ücreti 50 liradır."
    first = ingest_text(acme.other_agent, "kosullar.md", text)
    assert found(first) == []
    second = ingest_text(acme.other_agent, "eski/kosullar.md", text.replace("50 lira", "50  LİRA"))
    assert found(first) == [("eski/kosullar.md", 2)]
    assert found(second) == [("kosullar.md", 2)]


def test_only_documents_that_hold_more_than_half_of_it_are_named(acme: World) -> None:
    document = make_document(acme.agent, "a.md", TEXTS)
    make_document(acme.agent, "most.md", [*TEXTS[:2], "Başka bir metin."])
    make_document(acme.agent, "footer.md", [TEXTS[0], "Başka bir metin."])
    make_document(acme.agent, "book.md", [*TEXTS, *(f"Bölüm {n}" for n in range(9))])
    assert found(document) == [("book.md", 3), ("most.md", 2)]


def test_a_text_that_one_document_repeats_counts_as_often_as_it_stands_there(acme: World) -> None:
    document = make_document(acme.agent, "a.md", [TEXTS[0], TEXTS[0], TEXTS[1]])
    make_document(acme.agent, "b.md", [TEXTS[0]])
    assert found(document) == [("b.md", 2)]


def test_other_agents_and_tenants_are_never_named(acme: World, globex: World) -> None:
    document = make_document(acme.agent, "a.md", TEXTS)
    make_document(acme.other_agent, "b.md", TEXTS)
    make_document(globex.agent, "c.md", TEXTS)
    assert found(document) == []


def test_what_is_deleted_is_named_no_more_and_what_is_disabled_says_so(acme: World) -> None:
    document = make_document(acme.agent, "a.md", TEXTS)
    gone, off = make_document(acme.agent, "b.md", TEXTS), make_document(acme.agent, "c.md", TEXTS)
    documents.set_enabled(off, False)
    assert [(one.uri, one.enabled) for one in duplicates_of(document)] == [
        ("b.md", True), ("c.md", False)
    ]  # fmt: skip
    documents.delete(gone)
    assert found(document) == [("c.md", 3)]


def test_a_twin_is_found_among_many_that_share_a_footer(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "COPIES", 2)
    for number in range(8):
        make_document(acme.agent, f"{number}.md", [TEXTS[0], f"Konu {number}"])
    document = make_document(acme.agent, "a.md", TEXTS)
    make_document(acme.agent, "z.md", TEXTS)
    assert found(document) == [("z.md", 3)]


def test_of_a_long_document_a_part_is_enough_to_find_its_twin(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "TEXTS", 3)
    texts = [f"Bölüm {number}" for number in range(12)]
    document = make_document(acme.agent, "a.md", texts)
    make_document(acme.agent, "b.md", texts)
    assert found(document) == [("b.md", 12)]


def test_no_more_are_named_than_a_person_reads_and_in_an_order_that_stays(acme: World) -> None:
    names = [f"{number}.md" for number in (3, 1, 6, 0, 5, 2, 4)]
    for name in names:
        make_document(acme.agent, name, TEXTS)
    expected = sorted(set(names) - {"3.md"})[: duplicates.MOST]
    assert [uri for uri, _ in found(Document.objects.get(uri="3.md"))] == expected


def test_it_is_one_statement_that_goes_through_the_texts(acme: World) -> None:
    document = make_document(acme.agent, "a.md", TEXTS)
    with CaptureQueriesContext(
        connection,
    ) as queries:
        duplicates_of(document)
    assert len(queries) == 2  # the agent's index, and this


# Shown


def test_a_document_over_http_reports_its_duplicates(acme: World) -> None:
    document = make_document(acme.agent, "a.md", TEXTS, report={"charset": "utf-8"})
    other = make_document(acme.agent, "b.md", TEXTS)
    address = f"/api/v1/documents/{document.pk}"
    report = acme.client.get(address).json()["report"]
    assert report == {
        "charset": "utf-8",
        "duplicates": [
            {
                "document": str(other.pk),
                "uri": "b.md",
                "title": "B",
                "enabled": True,
                "passages": 3,
            }
        ],
    }
    assert acme.client.post(f"{address}/disable").json()["report"] == report


def test_a_document_without_passages_reports_no_duplicates(acme: World) -> None:
    waiting = Document.objects.create(tenant=acme.tenant, agent=acme.agent, uri="yeni.md")
    assert acme.client.get(f"/api/v1/documents/{waiting.pk}").json()["report"] == {}
