"""Questions typed carelessly are embedded as the agent's documents would write them."""

from __future__ import annotations

from ingestion import documents
from ingestion.indexes import index_for
from ingestion.models import Word
from retrieval.retrieve import retrieve
from retrieval.vocabulary import Vocabulary
from tenants.models import Agent
from tests.factories import World, make_document


def of(agent: Agent) -> Vocabulary:
    return Vocabulary(index_for(agent))


def written(world: World, **spellings: int) -> None:
    for surface, count in spellings.items():
        Word.objects.create(
            tenant=world.tenant,
            agent=world.agent,
            document=world.document,
            folded="siparis",
            surface=surface,
            count=count,
        )


def test_the_spelling_used_most_is_taken(acme: World) -> None:
    written(acme, sipariş=3, siparis=2)
    assert of(acme.agent).spellings(["siparis", "unknown"]) == {"siparis": "sipariş"}


def test_equally_frequent_spellings_are_decided_by_their_letters(acme: World) -> None:
    written(acme, sipariş=2, siparis=2)
    assert of(acme.agent).spellings(["siparis"]) == {"siparis": "siparis"}


def test_another_agent_and_another_tenant_have_words_of_their_own(
    acme: World, globex: World
) -> None:
    written(acme, sipariş=1)
    assert of(acme.other_agent).spellings(["siparis"]) == {}
    assert of(globex.agent).spellings(["siparis"]) == {}


def test_a_disabled_document_teaches_no_spelling(acme: World) -> None:
    written(acme, sipariş=1)
    documents.set_enabled(acme.document, False)
    assert of(acme.agent).spellings(["siparis"]) == {}


def test_a_question_without_diacritics_is_embedded_with_them(acme: World) -> None:
    make_document(acme.agent, "siparis.md", ["Siparişinizi üç gün içinde değiştirebilirsiniz."])
    written(acme, sipariş=1)
    assert "sipariş" in retrieve(acme.agent, "siparis degistirme").trace["embedded"]


def test_a_question_typed_properly_is_embedded_as_typed(acme: World) -> None:
    written(acme, sipariş=1)
    question = "Sipariş değiştirme süresi nedir?"
    assert retrieve(acme.agent, question).trace["embedded"] == question
