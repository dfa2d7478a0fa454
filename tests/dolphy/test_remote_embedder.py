"""The remote embedder against a scripted endpoint, over real HTTP."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import openai._base_client
import pytest

from dolphy.embedding import BadVectors, EmbedderUnavailable, TextsRefused
from dolphy.embedding.meter import metered
from dolphy.embedding.remote import PLAIN_WORD, TRIES, TRIES_FOR_A_QUESTION, RemoteEmbedder
from tests.embedding_server import DIMENSIONS, MODEL, EmbeddingServer, Fault, vector_of


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with EmbeddingServer() as server:
        yield server


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the client slept between tries; here it does not."""
    waits: list[float] = []
    monkeypatch.setattr(openai._base_client.time, "sleep", waits.append)
    return waits


def embedder(server: EmbeddingServer, **options: float) -> RemoteEmbedder:
    return RemoteEmbedder(
        MODEL, DIMENSIONS, base_url=server.base_url, api_key="test", **{"timeout": 5.0, **options}
    )


def refuse(server: EmbeddingServer, *bad: str) -> None:
    """From here on a request with one of these texts is refused whole."""

    def look(texts: list[str]) -> None:
        server.fault = Fault.BAD_REQUEST if set(bad) & set(texts) else Fault.NONE

    server.before_answer = look


def test_vectors_come_in_the_order_of_the_texts(server: EmbeddingServer) -> None:
    texts = [f"metin {n}" for n in range(5)]
    got = embedder(server).embed_passages(texts)
    assert np.allclose(got, [vector_of(MODEL, text) for text in texts], atol=1e-6)


def test_nothing_to_embed_asks_for_nothing(server: EmbeddingServer) -> None:
    assert embedder(server).embed_passages([]).shape == (0, DIMENSIONS)
    assert server.requests == []


def test_a_request_holds_a_bounded_number_of_texts(server: EmbeddingServer) -> None:
    embedder(server).embed_passages([f"metin {n}" for n in range(150)])
    assert [len(texts) for texts in server.requests] == [64, 64, 22]


def test_a_request_holds_a_bounded_number_of_tokens(server: EmbeddingServer) -> None:
    one = embedder(server, request_tokens=100)
    texts = ["a" * 80] * 5 + ["b" * 500] + ["c"]  # 41 tokens each, then 251, then 1
    one.embed_passages(texts)
    assert [len(texts) for texts in server.requests] == [2, 2, 1, 1, 1]
    assert [text for texts in server.requests for text in texts] == texts


@pytest.mark.parametrize("fault", [Fault.SERVER_ERROR, Fault.RATE_LIMIT])
def test_a_passing_fault_is_tried_again(
    server: EmbeddingServer, slept: list[float], fault: Fault
) -> None:
    def recover(texts: list[str]) -> None:
        server.fault = fault if len(server.requests) < 3 else Fault.NONE

    server.before_answer = recover
    assert embedder(server).embed_passages(["metin"]).shape == (1, DIMENSIONS)
    assert len(server.requests) == 3
    assert len(slept) == 2


def test_as_long_as_the_endpoint_asks_for_is_waited(
    server: EmbeddingServer, slept: list[float]
) -> None:
    server.fault, server.retry_after = Fault.RATE_LIMIT, 17
    with pytest.raises(EmbedderUnavailable) as refused:
        embedder(server).embed_passages(["metin"])
    assert slept == [17.0] * (TRIES - 1)
    assert refused.value.wait == 17.0


def test_what_is_asked_for_beyond_patience_is_left_to_the_job(
    server: EmbeddingServer, slept: list[float]
) -> None:
    server.fault, server.retry_after = Fault.RATE_LIMIT, 900
    with pytest.raises(EmbedderUnavailable) as refused:
        embedder(server).embed_passages(["metin"])
    assert (slept, len(server.requests)) == ([], 1)
    assert refused.value.wait == 900.0


def test_waits_grow_and_are_jittered(server: EmbeddingServer, slept: list[float]) -> None:
    server.fault = Fault.SERVER_ERROR
    for _ in range(3):
        with pytest.raises(EmbedderUnavailable):
            embedder(server).embed_passages(["metin"])
    first, second, third = slept[:4], slept[4:8], slept[8:]
    assert first == sorted(first)
    assert not first == second == third


def test_an_endpoint_that_hangs_is_unavailable(server: EmbeddingServer, slept: list[float]) -> None:
    server.fault = Fault.HANG
    with pytest.raises(EmbedderUnavailable, match="APITimeoutError"):
        embedder(server, timeout=0.1).embed_passages(["metin"])
    assert len(server.requests) == TRIES


@pytest.mark.parametrize("fault", [Fault.DRIP, Fault.DRIP_HEADERS])
def test_an_endpoint_that_drips_is_unavailable(
    server: EmbeddingServer, slept: list[float], fault: Fault
) -> None:
    one = embedder(server, total=0.2)
    server.fault = fault
    with pytest.raises(EmbedderUnavailable, match="APITimeoutError"):
        one.embed_passages(["metin"])
    assert (len(server.requests), len(slept)) == (TRIES, TRIES - 1)
    with pytest.raises(EmbedderUnavailable, match="APITimeoutError"):
        one.embed_question("soru")
    assert len(server.requests) == TRIES + TRIES_FOR_A_QUESTION

    server.fault = Fault.NONE
    assert one.embed_passages(["metin"]).shape == (1, DIMENSIONS)


def test_an_answer_without_end_is_not_read_to_it(
    server: EmbeddingServer, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dolphy.embedding.remote.ANSWER_BYTES", 3_000_000)
    server.fault = Fault.ENDLESS
    with pytest.raises(EmbedderUnavailable, match="over 3,000,000 bytes"):
        embedder(server).embed_question("soru")


NO_ANSWERS = {
    "a page": b"<html><body>502 Bad Gateway</body></html>",
    "cut off": b'{"object": "list", "data": [{"embedding": [0.1,',
    "nothing": b"",
    "no utf-8": b'{"data": "\xff\xfe"}',
    "an error": b'{"error": {"message": "overloaded"}}',
    "a list": b"[]",
    "no rows": b'{"data": null}',
    "rows of nothing": b'{"data": [{}, 3]}',
    "too deep": b"[" * 100_000,
}


@pytest.mark.parametrize("body", NO_ANSWERS.values(), ids=NO_ANSWERS)
def test_what_is_no_answer_about_embeddings_passes(
    server: EmbeddingServer, slept: list[float], body: bytes
) -> None:
    def recover(texts: list[str]) -> None:
        server.body = body if len(server.requests) < 3 else None

    server.before_answer = recover
    assert embedder(server).embed_passages(["metin"]).shape == (1, DIMENSIONS)
    assert len(slept) == 2

    server.before_answer, server.body = lambda texts: None, body
    with pytest.raises(EmbedderUnavailable, match="APIConnectionError"):
        embedder(server).embed_question("soru")


def test_numbers_that_no_float_holds_are_refused(server: EmbeddingServer) -> None:
    number = b"1" + b"0" * 400
    server.body = b'{"data": [{"index": 0, "embedding": [' + number + b"]}]}"
    with pytest.raises(BadVectors):
        embedder(server).embed_passages(["metin"])


@pytest.mark.parametrize(
    "tokens", ["many", float("nan"), float("inf"), 10**30, -5, 0, 2.5, True, None, [], "7"]
)
def test_a_cost_that_cannot_be_is_replaced_by_our_estimate(
    server: EmbeddingServer, tokens: object
) -> None:
    server.usage = {"total_tokens": tokens}
    one = embedder(server)
    with metered() as use:
        one.embed_passages(["iki kelime", "bir"])
    assert use.tokens == one.count_tokens("iki kelime") + one.count_tokens("bir")


def test_an_endpoint_that_is_gone_is_unavailable(slept: list[float]) -> None:
    with EmbeddingServer() as server:
        gone = embedder(server)
    with pytest.raises(EmbedderUnavailable, match="APIConnectionError"):
        gone.embed_passages(["metin"])


def test_a_question_waits_for_one_more_try_only(
    server: EmbeddingServer, slept: list[float]
) -> None:
    server.fault = Fault.SERVER_ERROR
    with pytest.raises(EmbedderUnavailable):
        embedder(server).embed_question("soru")
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "fault", [Fault.OTHER_WIDTH, Fault.NAN, Fault.ZEROS, Fault.UNNORMALISED, Fault.FEWER]
)
def test_unusable_vectors_are_refused(server: EmbeddingServer, fault: Fault) -> None:
    server.fault = fault
    with pytest.raises(BadVectors):
        embedder(server).embed_passages(["bir", "iki"])


def test_one_refused_text_does_not_cost_the_others_their_vectors(server: EmbeddingServer) -> None:
    texts = [f"metin {n}" for n in range(64)]
    refuse(server, "metin 37")
    with pytest.raises(TextsRefused) as refused:
        embedder(server).embed_passages(texts)
    assert list(refused.value.refused) == [37]
    others = [n for n in range(64) if n != 37]
    expected = [vector_of(MODEL, texts[n]) for n in others]
    assert np.allclose(refused.value.vectors[others], expected, atol=1e-6)
    assert len(server.requests) <= 1 + 2 * 6  # halving, not one by one
    assert sorted(server.embedded) == sorted(texts[n] for n in others)  # each once


def test_refused_texts_in_several_requests_are_all_named(server: EmbeddingServer) -> None:
    refuse(server, "metin 0", "metin 1", "metin 2", "metin 3", "metin 4", "metin 99")
    with pytest.raises(TextsRefused) as refused:
        embedder(server).embed_passages([f"metin {n}" for n in range(100)])
    assert sorted(refused.value.refused) == [0, 1, 2, 3, 4, 99]
    assert [PLAIN_WORD] in server.requests


def test_an_endpoint_that_refuses_everything_is_not_searched_for_the_bad_text(
    server: EmbeddingServer,
) -> None:
    server.fault = Fault.BAD_REQUEST
    with pytest.raises(BadVectors, match="refuses any text") as refused:
        embedder(server).embed_passages([f"metin {n}" for n in range(64)])
    assert not isinstance(refused.value, TextsRefused)
    assert len(server.requests) < 16


def test_a_refused_question_is_an_error(server: EmbeddingServer) -> None:
    server.fault = Fault.BAD_REQUEST
    with pytest.raises(BadVectors, match="refused the text"):
        embedder(server).embed_question("soru")


def test_requests_and_tokens_are_counted_with_every_try(
    server: EmbeddingServer, slept: list[float]
) -> None:
    server.fault = Fault.EVERY_THIRD
    one = embedder(server)
    with metered() as use:
        one.embed_passages([f"iki kelime{n}" for n in range(64 * 4)])
    assert use.requests == len(server.requests) == 5
    assert use.tokens == 2 * 64 * 4
    one.embed_question("sayılmaz")
    assert use.requests == 5


def test_a_block_inside_another_counts_for_itself(server: EmbeddingServer) -> None:
    one = embedder(server)
    with metered() as outer:
        one.embed_question("bir")
        with metered() as inner:
            one.embed_question("iki")
    assert (outer.requests, inner.requests) == (1, 1)
