"""Texts get vectors once, and what a stopped job had embedded is not embedded again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from redis.exceptions import RedisError

from dolphy import embedding
from dolphy.cache import valkey
from ingestion import embed
from ingestion.embed import KEPT_UNDER, forget, vectors_for
from ingestion.errors import PassagesRefused
from ingestion.indexes import index_for
from ingestion.ingest import ingest
from ingestion.models import EmbeddingUse, Index, IngestionJob
from ingestion.receive import receive
from tenants.models import Agent, Tenant
from tests.embedding_server import DIMENSIONS, MODEL, EmbeddingServer, Fault, vector_of
from tests.factories import ingest_text, make_agent


class Stopped(Exception):
    pass


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch) -> Agent:
    monkeypatch.setattr("dolphy.embedding.remote.RemoteEmbedder.batch", 4)
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


@pytest.fixture
def index(agent: Agent) -> Index:
    return index_for(agent)


@pytest.fixture
def job(agent: Agent) -> IngestionJob:
    return receive(agent, name="a.md", data=b"# A\n\nmetin")


def texts(count: int) -> list[str]:
    return [f"metin {n}" for n in range(count)]


def nothing(done: int, total: int) -> None:
    pass


def stop_at(done: int) -> Any:
    def progress(so_far: int, total: int) -> None:
        if so_far >= done:
            raise Stopped

    return progress


def test_every_text_has_its_vector_in_order(job: IngestionJob, index: Index) -> None:
    got = vectors_for(job, index, embedding.configured(), texts(10), nothing)
    assert np.allclose(got, [vector_of(MODEL, text) for text in texts(10)], atol=1e-6)


def test_no_texts_have_no_vectors(job: IngestionJob, index: Index) -> None:
    got = vectors_for(job, index, embedding.configured(), [], nothing)
    assert got.shape == (0, DIMENSIONS)


def test_equal_texts_are_embedded_once(
    job: IngestionJob, index: Index, embedding_server: EmbeddingServer
) -> None:
    got = vectors_for(job, index, embedding.configured(), ["bir", "iki", "bir"], nothing)
    assert embedding_server.embedded == ["bir", "iki"]
    assert (got[0] == got[2]).all()


def test_a_text_of_another_document_is_not_embedded_again(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    ingest_text(agent, "a.md", "# Konu\n\nBir metin.")
    embedding_server.forget()
    ingest_text(agent, "b.md", "# Konu\n\nBir metin.")
    assert embedding_server.embedded == []


def test_a_stopped_job_goes_on_at_the_batch_where_it_was(
    job: IngestionJob, index: Index, embedding_server: EmbeddingServer
) -> None:
    with pytest.raises(Stopped):
        vectors_for(job, index, embedding.configured(), texts(20), stop_at(8))
    assert embedding_server.embedded == texts(8)
    embedding_server.forget()
    seen: list[tuple[int, int]] = []
    got = vectors_for(
        job, index, embedding.configured(), texts(20), lambda *numbers: seen.append(numbers)
    )
    assert embedding_server.embedded == texts(20)[8:]
    assert seen == [(8, 20), (12, 20), (16, 20), (20, 20)]
    assert np.allclose(got, [vector_of(MODEL, text) for text in texts(20)], atol=1e-6)


def test_what_was_kept_in_another_space_is_not_used(
    job: IngestionJob, index: Index, embedding_server: EmbeddingServer, settings: Any
) -> None:
    with pytest.raises(Stopped):
        vectors_for(job, index, embedding.configured(), texts(8), stop_at(4))
    embedding_server.forget()
    embedding_server.configure(settings, model="another-model")
    got = vectors_for(job, index, embedding.configured(), texts(8), nothing)
    assert embedding_server.embedded == texts(8)
    assert np.allclose(got, [vector_of("another-model", t) for t in texts(8)], atol=1e-6)


def test_without_valkey_everything_is_embedded(
    job: IngestionJob, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Away:
        def __getattr__(self, name: str) -> Any:
            raise RedisError("away")

    monkeypatch.setattr(embed, "valkey", Away)
    got = vectors_for(job, index, embedding.configured(), texts(8), nothing)
    assert got.shape == (8, DIMENSIONS)
    forget(job)


def test_nothing_is_kept_beside_a_job_that_has_ended(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    seen: list[int] = []
    embedding_server.before_answer = lambda _: seen.append(
        sum(1 for _ in valkey().scan_iter(match=f"{KEPT_UNDER}*"))
    )
    many = "\n\n".join(f"# Konu {n}\n\nMadde {n}." for n in range(8))
    job = receive(agent, name="a.md", data=many.encode())
    ingest(job.pk)
    assert seen[0] < seen[1]  # beside the job while it is at work
    assert not valkey().exists(f"{KEPT_UNDER}{job.pk}")


# Refused texts


def refuse(server: EmbeddingServer, *marks: str) -> None:
    def look(sent: list[str]) -> None:
        bad = any(mark in text for mark in marks for text in sent)
        server.fault = Fault.BAD_REQUEST if bad else Fault.NONE

    server.before_answer = look


def test_a_refused_text_is_named_by_its_places_and_the_rest_is_kept(
    job: IngestionJob, index: Index, embedding_server: EmbeddingServer
) -> None:
    refuse(embedding_server, "kötü")
    sent = [*texts(5), "kötü", *texts(9)[5:], "kötü"]
    with pytest.raises(PassagesRefused) as refused:
        vectors_for(job, index, embedding.configured(), sent, nothing)
    assert sorted(refused.value.refused) == [5, 10]
    assert sorted(embedding_server.embedded) == texts(9)


def test_a_document_with_a_refused_passage_says_which_and_where(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    refuse(embedding_server, "yasak")
    parts = [f"## Konu {n}\n\n{'yasak' if n == 3 else 'serbest'} metin {n}." for n in range(6)]
    job = receive(agent, name="a.md", data="\n\n".join(["# Kurallar", *parts]).encode())
    ingest(job.pk)
    job.refresh_from_db()
    job.document.refresh_from_db()
    assert (job.state, job.error_code) == ("failed", "passages_refused")
    assert "Passage 4 (" in job.error
    assert "Konu 3" in job.error
    assert job.document.state == "attention"
    assert not valkey().exists(f"{KEPT_UNDER}{job.pk}")


def test_many_refused_passages_are_counted_not_listed() -> None:
    error = PassagesRefused(dict.fromkeys(range(8), "no"))
    assert error.message.count("Passage ") == 5
    assert error.message.endswith("And 3 more.")


# The account


def test_what_embedding_costs_is_on_the_account_of_the_tenant(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    many = "\n\n".join(f"# Konu {n}\n\nMadde {n}." for n in range(8))
    ingest_text(agent, "a.md", many)
    ingest_text(agent, "b.md", "# Başka\n\nMetin.")
    row = EmbeddingUse.objects.get()
    assert row.tenant_id == agent.tenant_id
    assert row.requests == len(embedding_server.requests) == 3
    assert row.texts == len(embedding_server.embedded) == 9
    assert row.tokens == sum(len(text.split()) for text in embedding_server.embedded)


def test_requests_that_failed_are_on_the_account_as_well(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    refuse(embedding_server, "yasak")
    ingest_text_failing(agent, "# A\n\nserbest\n\n# B\n\nyasak")
    assert EmbeddingUse.objects.get().requests == len(embedding_server.requests) == 3


def test_an_embedder_inside_this_process_costs_nothing(db: None, settings: Any) -> None:
    agent = make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")
    ingest_text(agent, "a.md", "# Konu\n\nBir metin.")
    assert not EmbeddingUse.objects.exists()


def ingest_text_failing(agent: Agent, text: str) -> None:
    job = receive(agent, name="x.md", data=text.encode())
    ingest(job.pk)


@pytest.mark.parametrize("tokens", ["many", 10**30, -7, float("nan")])
def test_a_cost_that_cannot_be_is_charged_as_we_estimate_it(
    job: IngestionJob, index: Index, embedding_server: EmbeddingServer, tokens: object
) -> None:
    embedding_server.usage = {"total_tokens": tokens}
    one = embedding.configured()
    vectors_for(job, index, one, texts(2), nothing)
    assert EmbeddingUse.objects.get().tokens == sum(map(one.count_tokens, texts(2)))
