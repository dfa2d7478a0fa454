"""The boundary: whose rows may be seen, resolved once at the door and passed on.

Whatever is outside a boundary does not exist for it: another tenant's row, another agent's row for
a key that is limited to one agent, an id nobody has and text that is no id are the same `NotFound`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar
from uuid import UUID

from django.db.models import Model, QuerySet

from dolphy.errors import NotFound
from dolphy.marks import is_text
from tenants.models import Agent, Tenant

Row = TypeVar("Row", bound=Model)


@dataclass(frozen=True, slots=True)
class Boundary:
    """One tenant, or one agent of it."""

    tenant: Tenant
    agent_id: UUID | None = None

    def agents(self) -> QuerySet[Agent]:
        """The agents inside; each carries its tenant, so asking for it costs nothing."""
        agents = Agent.objects.filter(tenant=self.tenant.pk).select_related("tenant")
        return agents.filter(pk=self.agent_id) if self.agent_id else agents

    def agent(self, agent_id: str | UUID) -> Agent:
        return _one(self.agents(), agent_id, "agent")

    def rows(self, kind: type[Row], agent: Agent | None = None) -> QuerySet[Row]:
        """The rows of a model inside the boundary, or inside one agent of it."""
        rows = kind._default_manager.filter(tenant=self.tenant.pk)
        for limit in filter(None, (self.agent_id, agent and agent.pk)):
            rows = rows.filter(agent=limit)
        return rows

    def row(self, kind: type[Row], row_id: str | UUID) -> Row:
        """One row with its agent and tenant."""
        rows = self.rows(kind).select_related("agent__tenant")
        return _one(rows, row_id, str(kind._meta.verbose_name))


def _one(rows: QuerySet[Row], row_id: str | UUID, what: str) -> Row:
    try:
        found = rows.filter(pk=UUID(str(row_id))).first()
    except ValueError:
        found = None
    if found is None:
        raise NotFound(f"Looked for: {what}.")
    return found


def agent_named(name: str) -> Agent:
    """The agent that a command means by `TENANT/AGENT`."""
    tenant, _, agent = name.partition("/")
    found = (
        Agent.objects.select_related("tenant").filter(tenant__slug=tenant, slug=agent).first()
        if is_text(name)
        else None
    )
    if found is None:
        raise NotFound(
            f"No agent is called {name!r}; agents are named TENANT/AGENT, and made "
            "by create_agent or in the admin."
        )
    return found
