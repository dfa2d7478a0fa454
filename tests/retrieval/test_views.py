"""Questions over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dolphy import embedding
from dolphy.api import JSON_BODY_BYTES
from retrieval.models import Trace
from retrieval.serializers import EvidenceSerializer, SearchAnswerSerializer
from tenants.models import ApiKey, Scope
from tests.factories import QUESTION, World, caller, make_agent, make_document


def ask(world: World, body: Any, **options: Any) -> Any:
    return world.client.post(
        f"/api/v1/agents/{world.agent.pk}/search",
        body,
        **({"content_type": "application/json"} | options),
    )


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_a_question_gets_its_evidence(acme: World) -> None:
    response = ask(acme, {"question": QUESTION})
    assert response.status_code == 200
    answer = response.json()
    best = answer["evidence"][0]
    assert answer["question"] == QUESTION
    assert answer["fusion"] == "calibrated"
    assert (best["rank"], best["uri"], best["document"]) == (1, "iade.md", "Iade")
    assert best["text"] == "acme iade süresi 14 gündür."
    assert best["document_id"] == str(acme.document.pk)
    assert answer["timings_ms"]


def test_an_answer_has_the_documented_shape(acme: World) -> None:
    answer = ask(acme, {"question": QUESTION, "explain": True}).json()
    assert set(answer) == set(SearchAnswerSerializer().fields)
    assert set(answer["evidence"][0]) == set(EvidenceSerializer().fields)


def test_the_trace_is_kept_and_shown_on_request(acme: World) -> None:
    plain = ask(acme, {"question": QUESTION}).json()
    assert "explanation" not in plain
    trace = Trace.objects.get(pk=plain["trace"])
    assert (trace.tenant, trace.agent, trace.question) == (acme.tenant, acme.agent, QUESTION)
    explained = ask(acme, {"question": QUESTION, "explain": True}).json()
    assert len(explained["explanation"]["candidates"]) == 2
    kept = Trace.objects.get(pk=explained["trace"])
    assert kept.record == explained["explanation"]


def test_limit_and_fusion_are_the_requests_to_choose(acme: World) -> None:
    answer = ask(acme, {"question": QUESTION, "limit": 1, "fusion": "rrf"}).json()
    assert len(answer["evidence"]) == 1
    assert answer["fusion"] == "rrf"
    same = ask(acme, {"question": QUESTION, "limit": None, "fusion": None}).json()
    assert len(same["evidence"]) == 2


def test_an_agent_without_documents_answers_with_no_evidence(acme: World) -> None:
    empty = make_agent(acme.tenant, "empty")
    response = acme.client.post(
        f"/api/v1/agents/{empty.pk}/search",
        {"question": QUESTION},
        content_type="application/json",
    )
    assert (response.status_code, response.json()["evidence"]) == (200, [])


def test_a_document_shows_in_the_next_search_as_it_is_now(acme: World) -> None:
    document = make_document(acme.agent, "sure.md", ["İade süresi kaç gün? On dört gün."])
    path = f"/api/v1/documents/{document.pk}"

    def uris() -> set[str]:
        return {one["uri"] for one in ask(acme, {"question": QUESTION}).json()["evidence"]}

    assert uris() == {"sure.md", "iade.md"}
    acme.client.post(f"{path}/disable")
    assert uris() == {"iade.md"}
    acme.client.post(f"{path}/enable")
    assert uris() == {"sure.md", "iade.md"}
    acme.client.delete(path)
    assert uris() == {"iade.md"}


@pytest.mark.parametrize(
    "question, code",
    [
        ("", "question_empty"),
        (" \n\t ", "question_empty"),
        ("a" * 20_000, "question_too_long"),
        ("?!…", "question_without_words"),
        ("iade\0", "question_not_text"),
        ("\ud800", "question_not_text"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused_by_name(
    acme: World, question: str, code: str
) -> None:
    body = json.dumps({"question": question})
    assert refusal(ask(acme, body)) == (400, code)
    assert Trace.objects.filter(agent=acme.agent.pk).count() == 1


@pytest.mark.parametrize(
    "body, field",
    [
        ({}, "question"),
        ({"question": None}, "question"),
        ({"question": 5}, "question"),
        ({"question": ["iade"]}, "question"),
        ({"question": {"text": "iade"}}, "question"),
        ({"question": True}, "question"),
        ({"question": "iade", "limit": 0}, "limit"),
        ({"question": "iade", "limit": 51}, "limit"),
        ({"question": "iade", "limit": "8"}, "limit"),
        ({"question": "iade", "limit": 1.5}, "limit"),
        ({"question": "iade", "limit": True}, "limit"),
        ({"question": "iade", "fusion": "best"}, "fusion"),
        ({"question": "iade", "fusion": 1}, "fusion"),
        ({"question": "iade", "fusion": ["rrf"]}, "fusion"),
        ({"question": "iade", "explain": "yes"}, "explain"),
        ({"question": "iade", "fuson": "rrf"}, "fuson"),
        (["iade"], "non_field_errors"),
    ],
)
def test_a_wrong_field_is_named(acme: World, body: Any, field: str) -> None:
    response = ask(acme, json.dumps(body))
    assert refusal(response) == (400, "invalid_input")
    assert list(response.json()["error"]["fields"]) == [field]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"question",
        b'{"question": NaN}',
        b'{"question": "\xff"}',
        b"[" * 100_000,
        b'{"question": "x", "limit": 1' + b"0" * 5000 + b"}",
    ],
)
def test_broken_json_is_malformed(acme: World, body: bytes) -> None:
    response = ask(acme, body)
    assert response.status_code == 400
    assert response.json()["error"]["code"] in (
        {"malformed"} if body else {"malformed", "invalid_input"}
    )


def test_a_body_above_the_limit_is_refused(acme: World) -> None:
    body = json.dumps({"question": "x" * JSON_BODY_BYTES})
    assert refusal(ask(acme, body)) == (413, "too_large")


def test_a_form_is_the_wrong_kind_of_body(acme: World) -> None:
    form = "application/x-www-form-urlencoded"
    assert refusal(ask(acme, "question=iade", content_type=form)) == (
        415,
        "unsupported_media_type",
    )


def test_a_widgets_key_may_search_and_nothing_else(acme: World) -> None:
    _, secret = ApiKey.issue(acme.tenant, "widget", scopes=[Scope.SEARCH], agent=acme.agent)
    search = f"/api/v1/agents/{acme.agent.pk}/search"
    client = caller(secret)
    body = {"question": QUESTION}
    assert client.post(search, body, content_type="application/json").status_code == 200
    assert refusal(client.get(f"/api/v1/agents/{acme.agent.pk}/documents")) == (
        403,
        "scope_missing",
    )


def test_an_embedder_that_is_away_is_said_to_be_away(
    acme: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: object) -> None:
        raise embedding.EmbedderUnavailable("It does not answer.")

    monkeypatch.setattr("retrieval.retrieve.find", away)
    response = ask(acme, {"question": QUESTION})
    assert refusal(response) == (503, "embedder_unavailable")
