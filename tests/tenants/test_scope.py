"""The boundary, and the names that commands use."""

from __future__ import annotations

from uuid import uuid4

import pytest

from dolphy.errors import NotFound
from ingestion.models import Document
from tenants.scope import Boundary, agent_named
from tests.factories import World


def test_a_boundary_resolves_its_own_rows(acme: World) -> None:
    boundary = Boundary(acme.tenant)
    assert boundary.agent(acme.agent.pk) == acme.agent
    assert boundary.agent(str(acme.agent.pk).upper()) == acme.agent
    assert boundary.row(Document, str(acme.document.pk)) == acme.document


def test_another_tenants_row_is_not_found(acme: World, globex: World) -> None:
    boundary = Boundary(acme.tenant)
    for wrong in (globex.agent.pk, uuid4(), "", "x", "\0"):
        with pytest.raises(NotFound):
            boundary.agent(wrong)
    with pytest.raises(NotFound):
        boundary.row(Document, globex.document.pk)


def test_a_boundary_of_one_agent_holds_no_other(acme: World) -> None:
    boundary = Boundary(acme.tenant, acme.other_agent.pk)
    assert list(boundary.agents()) == [acme.other_agent]
    with pytest.raises(NotFound):
        boundary.row(Document, acme.document.pk)
    assert list(boundary.rows(Document, acme.other_agent)) == list(boundary.rows(Document))


def test_another_agents_rows_are_not_in_a_limited_boundary(acme: World) -> None:
    assert not Boundary(acme.tenant, acme.other_agent.pk).rows(Document, acme.agent).exists()


def test_an_agent_is_named_by_its_tenant_and_itself(acme: World, globex: World) -> None:
    assert agent_named("globex/help") == globex.agent


@pytest.mark.parametrize(
    "name",
    [
        "",
        "acme",
        "acme/",
        "/help",
        "acme/nobody",
        "x/help",
        "acme/\0",
        "acme/\udcfe",
        "\ud800/help",
    ],
)
def test_a_name_that_nobody_has_is_not_found(acme: World, name: str) -> None:
    with pytest.raises(NotFound, match="TENANT/AGENT"):
        agent_named(name)
