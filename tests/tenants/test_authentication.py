"""The door: which keys open, and how the others are refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.http import HttpRequest
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.request import Request

from tenants.authentication import ApiKeyAuthentication, KeyUnknown, note_use
from tenants.models import ApiKey, Scope
from tests.factories import World, caller

AGENTS = "/api/v1/agents"


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def test_a_live_key_opens(acme: World) -> None:
    assert caller(acme.secret).get(AGENTS).status_code == 200


def test_a_key_may_come_in_x_api_key(acme: World) -> None:
    assert Client(headers={"X-Api-Key": acme.secret}).get(AGENTS).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": ""},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer   "},
        {"Authorization": "Basic YTpi"},
        {"X-Api-Key": " "},
    ],
)
def test_without_a_key_nothing_opens(acme: World, headers: dict[str, str]) -> None:
    response = Client(headers=headers).get(AGENTS)
    assert refusal(response) == (401, "key_missing")
    assert response["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    "secret",
    ["dlp_wrong", "x" * 100_000, "dlp_\0", "\0", "dlp_ü\xff", "a b", "' OR 1=1 --", "dlp_" * 50],
)
def test_an_unknown_key_is_said_to_be_unknown(acme: World, secret: str) -> None:
    assert refusal(caller(secret).get(AGENTS)) == (401, "key_unknown")


def test_neither_prefix_nor_hash_opens(acme: World) -> None:
    for near in (acme.key.prefix, acme.key.hash, acme.secret[:-1], acme.secret.upper()):
        assert refusal(caller(near).get(AGENTS)) == (401, "key_unknown")


def test_a_revoked_key_is_refused_by_name(acme: World) -> None:
    acme.key.revoke()
    assert refusal(caller(acme.secret).get(AGENTS)) == (401, "key_revoked")


def test_an_expired_key_is_refused_by_name(acme: World) -> None:
    key, secret = ApiKey.issue(acme.tenant, "old", expires_at=timezone.now())
    assert refusal(caller(secret).get(AGENTS)) == (401, "key_expired")
    key.revoke()
    assert refusal(caller(secret).get(AGENTS)) == (401, "key_revoked")


def test_a_key_that_expires_later_opens_now(acme: World) -> None:
    _, secret = ApiKey.issue(acme.tenant, "new", expires_at=timezone.now() + timedelta(minutes=1))
    assert caller(secret).get(AGENTS).status_code == 200


def test_an_inactive_tenant_is_refused(acme: World) -> None:
    type(acme.tenant).objects.filter(pk=acme.tenant.pk).update(is_active=False)
    assert refusal(caller(acme.secret).get(AGENTS)) == (403, "tenant_inactive")


def test_a_missing_scope_is_named(acme: World) -> None:
    _, secret = ApiKey.issue(acme.tenant, "widget", scopes=[Scope.SEARCH])
    response = caller(secret).get(f"/api/v1/documents/{acme.document.pk}")
    assert refusal(response) == (403, "scope_missing")
    assert response.json()["error"]["needed"] == "documents:read"


def test_the_secret_is_kept_nowhere(acme: World) -> None:
    kept = ApiKey.objects.filter(pk=acme.key.pk).values().get()
    assert acme.secret not in " ".join(map(str, kept.values()))


def test_a_signed_in_person_is_no_caller(acme: World) -> None:
    client = Client()
    client.force_login(acme.user)
    assert refusal(client.get(AGENTS)) == (401, "key_missing")


def test_last_use_is_noted_at_most_once_a_minute(
    acme: World, django_assert_num_queries: Any
) -> None:
    caller(acme.secret).get(AGENTS)
    acme.key.refresh_from_db()
    noted = acme.key.last_used_at
    assert noted is not None
    with django_assert_num_queries(2):  # the key with its tenant, the agents
        caller(acme.secret).get(AGENTS)
    acme.key.refresh_from_db()
    assert acme.key.last_used_at == noted
    ApiKey.objects.filter(pk=acme.key.pk).update(last_used_at=noted - timedelta(minutes=2))
    caller(acme.secret).get(AGENTS)
    acme.key.refresh_from_db()
    assert acme.key.last_used_at >= noted


@pytest.mark.django_db(transaction=True)
def test_noting_a_use_never_waits_for_another_request(acme: World) -> None:
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1 FROM tenants_apikey WHERE id = %s FOR UPDATE", [acme.key.pk])
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '2s'")
        note_use(acme.key)
        other.rollback()
    acme.key.refresh_from_db()
    assert acme.key.last_used_at is None
    note_use(acme.key)
    acme.key.refresh_from_db()
    assert acme.key.last_used_at is not None


def test_a_key_is_looked_up_by_its_hash_only(acme: World) -> None:
    request: HttpRequest = RequestFactory().get("/", headers={"X-Api-Key": "dlp_guess"})
    with CaptureQueriesContext(connection) as queries, pytest.raises(KeyUnknown):
        ApiKeyAuthentication().authenticate(Request(request))
    assert len(queries) == 1
    assert "dlp_guess" not in queries[0]["sql"]
