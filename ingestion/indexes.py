"""An agent's index: made in the configured space when the agent first needs one."""

from __future__ import annotations

from django.db import transaction

from dolphy import embedding
from ingestion.models import EmbeddingSpace, Index, serving_index
from tenants.models import Agent


def space_row(space: embedding.Space) -> EmbeddingSpace:
    row, _ = EmbeddingSpace.objects.get_or_create(
        provider=space.provider,
        model=space.model,
        dimensions=space.dimensions,
        revision=space.revision,
    )
    return row


def space_of(index: Index) -> embedding.Space:
    row = index.space
    return embedding.Space(row.provider, row.model, row.dimensions, row.revision)


def still_serves(index: Index) -> bool:
    """False once another index has taken its place."""
    return Index.objects.filter(
        pk=index.pk, tenant=index.tenant_id, state=Index.State.SERVING
    ).exists()


def index_for(agent: Agent) -> Index:
    """The index that serves this agent, made now if there is none."""
    if index := serving_index(agent):
        return index
    space = space_row(embedding.configured().space)
    with transaction.atomic():
        Agent.objects.select_for_update().get(pk=agent.pk, tenant=agent.tenant_id)
        return serving_index(agent) or Index.objects.create(
            tenant_id=agent.tenant_id, agent=agent, space=space, state=Index.State.SERVING
        )
