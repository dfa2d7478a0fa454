"""The plain admin for platform staff."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from ingestion.models import Document, IndexedPassage, IngestionJob
from retrieval.models import Trace
from tenants.authentication import live_key
from tenants.models import Agent, ApiKey, Tenant, User
from tests.factories import World, make_agent, make_document, make_job

OURS = sorted(
    (model for model in admin.site._registry if model.__module__.split(".")[0] != "django"),
    key=lambda model: model.__name__,
)
every_model = pytest.mark.parametrize("model", OURS, ids=lambda model: model.__name__)


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_superuser("staff@dolphy.example"))
    return client


def address(model: Any, page: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=args)


def test_every_model_with_a_single_key_is_registered() -> None:
    from django.apps import apps
    from django.db.models import CompositePrimaryKey

    for app in ("tenants", "ingestion", "retrieval"):
        for model in apps.get_app_config(app).get_models():
            composite = isinstance(model._meta.pk, CompositePrimaryKey)
            assert (model in OURS) != composite, model


@every_model
def test_every_list_and_every_row_can_be_looked_at(
    model: Any, staff: Client, acme: World, globex: World
) -> None:
    listing = staff.get(address(model, "changelist"))
    assert listing.status_code == 200
    row = model._default_manager.first()
    assert staff.get(address(model, "change", row.pk)).status_code == 200
    assert staff.get(address(model, "changelist"), {"q": "acme"}).status_code == 200


@every_model
def test_the_tenant_is_shown_and_filters(
    model: Any, staff: Client, acme: World, globex: World
) -> None:
    if not any(field.name == "tenant" for field in model._meta.fields):
        return
    registered = admin.site._registry[model]
    assert "tenant" in registered.list_display
    assert "tenant" in registered.list_filter
    listing = staff.get(address(model, "changelist"), {"tenant__id__exact": acme.tenant.pk})
    shown = listing.context["cl"].result_list
    assert shown
    assert {row.tenant_id for row in shown} == {acme.tenant.pk}


@every_model
def test_a_longer_list_costs_no_more_queries(model: Any, staff: Client, acme: World) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            staff.get(address(model, "changelist"))
        return len(captured)

    staff.get(address(model, "changelist"))
    before = queries()
    for number in range(4):
        agent = make_agent(acme.tenant, f"more-{number}")
        make_job(make_document(agent, "more.md", ["bir", "iki"]))
        ApiKey.issue(acme.tenant, f"more {number}", agent=agent)
        Trace.objects.create(tenant=acme.tenant, agent=agent, question="?", record={})
        User.objects.create_user(f"more{number}@acme.example").memberships.create(
            tenant=acme.tenant
        )
    assert queries() == before


def test_a_new_keys_secret_is_shown_once(staff: Client, acme: World) -> None:
    answer = staff.post(
        address(ApiKey, "add"),
        {
            "tenant": acme.tenant.pk,
            "agent": acme.agent.pk,
            "name": "widget",
            "scopes": ["search"],
            "_save": "1",
        },
        follow=True,
    )
    page = answer.content.decode()
    secret = re.search(r"dlp_[\w-]{43}", page)
    assert secret is not None
    key = live_key(secret[0])
    assert (key.name, key.tenant, key.agent, key.scopes) == (
        "widget",
        acme.tenant,
        acme.agent,
        ["search"],
    )
    for page in (address(ApiKey, "changelist"), address(ApiKey, "change", key.pk)):
        text = staff.get(page).content.decode()
        assert secret[0] not in text
        assert key.hash not in text


def test_a_key_for_another_tenants_agent_is_refused_politely(
    staff: Client, acme: World, globex: World
) -> None:
    form = {"tenant": acme.tenant.pk, "agent": globex.agent.pk, "name": "x", "scopes": ["search"]}
    answer = staff.post(address(ApiKey, "add"), form)
    assert answer.status_code == 200
    assert "belongs to another tenant" in answer.content.decode()
    form = {"agent": globex.agent.pk, "name": "x", "scopes": ["search"]}
    answer = staff.post(address(ApiKey, "change", acme.key.pk), form)
    assert "belongs to another tenant" in answer.content.decode()


def test_editing_a_key_keeps_its_secret_and_its_tenant(
    staff: Client, acme: World, globex: World
) -> None:
    form = {"tenant": globex.tenant.pk, "name": "renamed", "scopes": ["search"]}
    answer = staff.post(address(ApiKey, "change", acme.key.pk), form, follow=True)
    assert "dlp_" + acme.secret[4:] not in answer.content.decode()
    key = live_key(acme.secret)
    assert (key.name, key.tenant) == ("renamed", acme.tenant)


def test_staff_revoke_keys(staff: Client, acme: World) -> None:
    staff.post(
        address(ApiKey, "changelist"), {"action": "revoke", "_selected_action": [acme.key.pk]}
    )
    acme.key.refresh_from_db()
    assert not acme.key.is_live()


@pytest.mark.parametrize("model", [Trace, IngestionJob])
def test_traces_and_jobs_are_only_looked_at(model: Any, staff: Client, acme: World) -> None:
    row = model.objects.first()
    assert staff.get(address(model, "add")).status_code == 403
    assert staff.post(address(model, "change", row.pk), {}).status_code == 403
    assert staff.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", [Tenant, Agent])
def test_tenants_and_agents_are_not_deleted(model: Any, staff: Client, acme: World) -> None:
    row = model.objects.first()
    assert staff.post(address(model, "delete", row.pk), {"post": "yes"}).status_code == 403


def test_staff_disable_and_delete_documents_by_the_same_acts(staff: Client, acme: World) -> None:
    chosen = {"_selected_action": [acme.document.pk]}
    staff.post(address(Document, "changelist"), {"action": "disable", **chosen})
    rows = IndexedPassage.objects.filter(document=acme.document.pk)
    assert {row.enabled for row in rows} == {False}
    staff.post(
        address(Document, "changelist"), {"action": "delete_selected", "post": "yes", **chosen}
    )
    assert not Document.objects.filter(pk=acme.document.pk).exists()
    assert not rows.all().exists()


def test_people_without_staff_rights_stay_outside(acme: World) -> None:
    client = Client()
    client.force_login(acme.user)
    assert client.get(address(Tenant, "changelist")).status_code == 302


def test_an_agent_is_given_a_language_from_those_that_the_analyser_knows(
    staff: Client, acme: World
) -> None:
    values = {"tenant": acme.tenant.pk, "slug": "new", "name": "New", "fusion": "calibrated"}
    for name in ("semantic_depth", "lexical_depth", "evidence_limit"):
        values[name] = 40
    values |= {"document_cap": 2, "strongest_document_cap": 4, "_save": "1"}
    form = staff.get(address(Agent, "add")).content.decode()
    assert '<option value="de">German</option>' in form
    refused = staff.post(address(Agent, "add"), {**values, "language": "xx"})
    assert "xx is not one of the available choices" in refused.content.decode()
    staff.post(address(Agent, "add"), {**values, "language": "de"})
    assert Agent.objects.get(slug="new").language == "de"


def test_documents_that_are_deleted_together_are_gone_at_once(staff: Client, acme: World) -> None:
    keys = [acme.document.pk, make_document(acme.agent, "more.md", ["bir", "iki"]).pk]
    body = {"action": "delete_selected", "_selected_action": keys, "post": "yes"}
    assert staff.post(address(Document, "changelist"), body).status_code == 302
    assert not Document.objects.filter(agent=acme.agent).exists()
    assert not IndexedPassage.objects.filter(agent=acme.agent).exists()
    assert Document.with_removed.filter(pk__in=keys).count() == 2  # for the workers to purge
