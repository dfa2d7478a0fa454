"""Keep a retrieval's trace, so that its order can be explained later."""

from __future__ import annotations

from retrieval.models import Trace
from retrieval.retrieve import Retrieval
from tenants.models import Agent


def record(agent: Agent, retrieval: Retrieval) -> Trace:
    return Trace.objects.create(
        tenant_id=agent.tenant_id,
        agent=agent,
        question=retrieval.trace["question"],
        record=retrieval.trace,
    )
