"""Two tenants against everything: every endpoint, every key, every constraint, every model.

Endpoints come from the URL resolver and constraints from PostgreSQL's catalogue, so what is added
later is held to the same without a word here: an endpoint with an unknown kind of id fails, and so
does a table with a tenant that nothing ties to it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, models, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from ingestion.crawl.models import Sync, Website
from ingestion.models import Document, IngestionJob
from retrieval.retrieve import retrieve
from tenants.models import ApiKey, Scope, Tenant
from tenants.scope import agent_named
from tests.factories import QUESTION, World, caller, make_document

API = "api/v1/"
METHODS = ("get", "post", "put", "patch", "delete")

# A new kind of id in an address needs an entry here: where the tests find one of a given tenant.
IDS = {
    "agent_id": lambda world: world.agent.pk,
    "document_id": lambda world: world.document.pk,
    "job_id": lambda world: world.job.pk,
    "website_id": lambda world: world.website.pk,
    "sync_id": lambda world: world.sync.pk,
}
# Addresses without an id answer with the caller's own rows only.
LISTS = {("get", "agents")}


@dataclass(frozen=True)
class Endpoint:
    method: str
    route: str
    view: Any

    @property
    def ids(self) -> list[str]:
        return re.findall(r"<(?:\w+:)?(\w+)>", self.route)

    def path(self, world: World) -> str:
        return (
            "/"
            + API
            + re.sub(r"<(?:\w+:)?(\w+)>", lambda found: str(IDS[found[1]](world)), self.route)
        )

    def call(self, client: Client, world: World) -> Any:
        body = json.dumps({"question": QUESTION}) if "search" in self.route else ""
        return client.generic(
            self.method.upper(), self.path(world), body, content_type="application/json"
        )

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.route}"


def walk(patterns: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from walk(pattern.url_patterns, route)
        elif isinstance(pattern, URLPattern):
            yield route, pattern.callback


def endpoints() -> list[Endpoint]:
    return [
        Endpoint(method, route.removeprefix(API), callback.view_class)
        for route, callback in walk(get_resolver().url_patterns)
        if route.startswith(API)
        for method in METHODS
        if hasattr(callback.view_class, method)
    ]


ENDPOINTS = endpoints()
every_endpoint = pytest.mark.parametrize("endpoint", ENDPOINTS, ids=str)
with_an_id = pytest.mark.parametrize("endpoint", [e for e in ENDPOINTS if e.ids], ids=str)


def refusal(response: Any) -> tuple[int, str]:
    return response.status_code, response.json()["error"]["code"]


def rows_of(world: World) -> dict[str, list[Any]]:
    """Everything the database holds of a tenant, but when its keys were last used."""
    held: dict[str, list[Any]] = {}
    for model in apps.get_models():
        if any(field.name == "tenant" for field in model._meta.fields):
            rows = model._default_manager.filter(tenant=world.tenant.pk)
            columns = [f.attname for f in model._meta.concrete_fields if f.name != "last_used_at"]
            held[model.__name__] = sorted(map(repr, rows.values_list(*columns)))
    return held


# Endpoints


def test_there_are_endpoints_to_test() -> None:
    assert len(ENDPOINTS) >= 16


@every_endpoint
def test_every_endpoint_is_a_known_case(endpoint: Endpoint) -> None:
    assert set(endpoint.ids) <= set(IDS), f"{endpoint}: say in IDS where its ids come from"
    assert endpoint.ids or (endpoint.method, endpoint.route) in LISTS, f"{endpoint}: no case"


@every_endpoint
def test_every_endpoint_names_its_scope(endpoint: Endpoint) -> None:
    assert endpoint.method.upper() in endpoint.view.scopes


@every_endpoint
def test_no_endpoint_answers_without_a_key(endpoint: Endpoint, acme: World) -> None:
    assert refusal(endpoint.call(Client(), acme)) == (401, "key_missing")


@with_an_id
def test_a_tenants_own_ids_are_found(endpoint: Endpoint, globex: World) -> None:
    assert endpoint.call(globex.client, globex).status_code not in {401, 403, 404}


@with_an_id
def test_another_tenants_ids_are_not_found_and_nothing_changes(
    endpoint: Endpoint, acme: World, globex: World
) -> None:
    before = rows_of(globex)
    assert refusal(endpoint.call(acme.client, globex)) == (404, "not_found")
    assert rows_of(globex) == before


@with_an_id
def test_another_tenants_id_and_an_id_of_nobody_read_the_same(
    endpoint: Endpoint, acme: World, globex: World
) -> None:
    foreign = endpoint.call(acme.client, globex)
    Tenant.objects.filter(pk=globex.tenant.pk).update(slug="initech")
    for model in (Document, IngestionJob, Sync, Website):
        model.objects.filter(tenant=globex.tenant.pk).delete()
    assert endpoint.call(acme.client, globex).json() == foreign.json()


@with_an_id
def test_a_key_of_one_agent_finds_nothing_of_another(endpoint: Endpoint, acme: World) -> None:
    _, secret = ApiKey.issue(acme.tenant, "shop only", agent=acme.other_agent)
    before = rows_of(acme)
    assert refusal(endpoint.call(caller(secret), acme)) == (404, "not_found")
    assert rows_of(acme) == before


@with_an_id
@pytest.mark.parametrize("wrong", ["1", "not-an-id", "%00", "00000000-0000-0000-0000-000000000000"])
def test_what_is_no_id_is_not_found(endpoint: Endpoint, acme: World, wrong: str) -> None:
    path = "/" + API + re.sub(r"<(?:\w+:)?(\w+)>", wrong, endpoint.route)
    response = acme.client.generic(endpoint.method.upper(), path)
    assert refusal(response) == (404, "not_found")


@pytest.mark.parametrize("method, route", sorted(LISTS))
def test_lists_hold_a_tenants_own_rows_only(
    method: str, route: str, acme: World, globex: World
) -> None:
    text = acme.client.generic(method.upper(), f"/{API}{route}").content.decode()
    assert str(acme.agent.pk) in text
    assert str(globex.agent.pk) not in text
    _, secret = ApiKey.issue(acme.tenant, "shop only", agent=acme.other_agent)
    limited = caller(secret).generic(method.upper(), f"/{API}{route}").content.decode()
    assert str(acme.other_agent.pk) in limited
    assert str(acme.agent.pk) not in limited


@pytest.mark.parametrize("what", ["documents", "jobs", "websites"])
def test_the_rows_of_an_agent_are_its_own(what: str, acme: World, globex: World) -> None:
    found = acme.client.get(f"/{API}agents/{acme.agent.pk}/{what}").json()["results"]
    assert {row["agent"] for row in found} == {str(acme.agent.pk)}


# Keys


def keys_of(world: World) -> dict[str, str]:
    """One key of each kind, by name."""
    kinds: dict[str, dict[str, Any]] = {f"only {scope}": {"scopes": [scope]} for scope in Scope}
    kinds |= {"everything": {}, "one agent": {"agent": world.agent}}
    return {name: ApiKey.issue(world.tenant, name, **fields)[1] for name, fields in kinds.items()}


def test_no_key_of_a_tenant_reads_anything_of_another(acme: World, globex: World) -> None:
    signs = {"globex", str(globex.tenant.pk), str(globex.document.file)}
    for name, secret in keys_of(acme).items():
        for endpoint in ENDPOINTS:
            response = endpoint.call(caller(secret), globex)
            assert response.status_code in {200, 403, 404}, f"{name}: {endpoint}"
            text = response.content.decode()
            assert not [sign for sign in signs if sign in text], f"{name}: {endpoint}"


def test_each_scope_opens_its_own_endpoints_and_no_other(acme: World) -> None:
    for scope in Scope:
        _, secret = ApiKey.issue(acme.tenant, scope, scopes=[scope])
        for endpoint in ENDPOINTS:
            needed = endpoint.view.scopes[endpoint.method.upper()]
            with transaction.atomic():
                response = endpoint.call(caller(secret), acme)
                transaction.set_rollback(True)
            is_refused = response.status_code == 403
            assert is_refused == (needed not in {None, scope}), f"{scope}: {endpoint}"


# Searches


def test_evidence_never_leaves_the_agent(acme: World, globex: World) -> None:
    for fusion in ("calibrated", "rrf", "semantic", "lexical"):
        retrieval = retrieve(acme.agent, QUESTION, limit=50, fusion=fusion)
        found = {one.text for one in retrieval.evidence}
        assert found
        assert all(text.startswith("acme") and "mağaza" not in text for text in found)
        assert {one["document"] for one in retrieval.trace["candidates"]} == {str(acme.document.pk)}


def test_more_documents_of_others_change_no_score(acme: World, globex: World) -> None:
    before = retrieve(acme.agent, QUESTION).evidence
    make_document(globex.agent, "more.md", [f"İade süresi {number} gün." for number in range(9)])
    make_document(acme.other_agent, "other.md", ["İade süresi 3 gün."])
    assert retrieve(acme.agent, QUESTION).evidence == before


def test_a_command_names_an_agent_with_its_tenant(acme: World, globex: World) -> None:
    assert agent_named("acme/help") == acme.agent
    assert agent_named("globex/help") == globex.agent


# Constraints


@dataclass(frozen=True)
class ForeignKey:
    name: str
    table: str
    target: str
    columns: tuple[str, ...]

    def __str__(self) -> str:
        return self.name


def constraints(kind: str) -> list[ForeignKey]:
    """Every constraint of this kind ('f' foreign, 'p' primary, 'u' unique) in the database."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT conname, conrelid::regclass::text, confrelid::regclass::text,
                array_agg(attname::text ORDER BY place)
            FROM pg_constraint
            CROSS JOIN LATERAL unnest(conkey) WITH ORDINALITY AS key (number, place)
            JOIN pg_attribute ON attrelid = conrelid AND attnum = number
            WHERE contype = %s AND connamespace = 'public'::regnamespace
            GROUP BY conname, conrelid, confrelid
            """,
            [kind],
        )
        return [ForeignKey(*row[:3], tuple(row[3])) for row in cursor.fetchall()]


def owned_tables() -> set[str]:
    return {
        model._meta.db_table
        for model in apps.get_models()
        if any(field.name == "tenant" for field in model._meta.fields)
    }


def test_every_reference_between_owned_rows_carries_the_tenant(db: None) -> None:
    owned = owned_tables()
    between = [key for key in constraints("f") if key.table in owned and key.target in owned]
    assert len(between) >= 11
    assert [key for key in between if "tenant_id" not in key.columns] == []


def test_every_owned_table_is_tied_to_its_tenant(db: None) -> None:
    tied = {key.table for key in constraints("f") if "tenant_id" in key.columns}
    assert owned_tables() - tied == set()


def test_every_relation_between_owned_models_is_a_constraint(db: None) -> None:
    """What a model calls a foreign key is one in PostgreSQL, but for columns that a wider key
    implies: the tenant and the agent, which lie in the keys of the others."""
    held = {(key.table, column) for key in constraints("f") for column in key.columns}
    for model in apps.get_models():
        for field in model._meta.fields:
            if isinstance(field, models.ForeignKey) and model._meta.db_table in owned_tables():
                if model.__name__ == "IndexedPassage" and field.name == "document":
                    continue  # its passage holds it to the document
                assert (model._meta.db_table, field.column) in held, f"{model}.{field.name}"


def test_every_unique_rule_of_owned_rows_carries_the_tenant(db: None) -> None:
    rules = [rule for rule in constraints("u") if rule.table in owned_tables()]
    assert rules
    assert [rule for rule in rules if "tenant_id" not in rule.columns] == []


def test_postgresql_refuses_every_reference_to_another_tenants_row(
    acme: World, globex: World
) -> None:
    ApiKey.issue(acme.tenant, "one agent", agent=acme.agent)
    keys = [key for key in constraints("f") if {key.table, key.target} <= owned_tables()]
    for key in keys:
        with pytest.raises(IntegrityError) as refused, transaction.atomic():
            for child in keys:  # so that no other constraint can be the one that refuses
                if child.target == key.table:
                    run(f"DELETE FROM {child.table} WHERE tenant_id = %s", acme)
            run(
                f"UPDATE {key.table} SET {key.columns[0]} = "
                f"(SELECT id FROM {key.target} WHERE tenant_id = %s LIMIT 1) WHERE ctid = "
                f"(SELECT ctid FROM {key.table} WHERE tenant_id = %s LIMIT 1)",
                globex,
                acme,
            )
            pytest.fail(f"{key} let another tenant's row in, or {key.table} had no row to try")
        assert refused.value.__cause__.diag.constraint_name == key.name


def run(statement: str, *worlds: World) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, [world.tenant.pk for world in worlds])


def test_postgresql_refuses_a_row_that_changes_its_tenant(acme: World, globex: World) -> None:
    for table in sorted(owned_tables() - {"tenants_membership", "tenants_agent", "tenants_apikey"}):
        with pytest.raises(IntegrityError), transaction.atomic():
            run(f"UPDATE {table} SET tenant_id = %s WHERE tenant_id = %s", globex, acme)
            pytest.fail(f"rows of {table} moved to another tenant")
