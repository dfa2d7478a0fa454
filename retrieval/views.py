"""Questions over HTTP."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.response import Response

from retrieval.retrieve import retrieve
from retrieval.serializers import SearchAnswerSerializer, SearchRequest, answered
from retrieval.traces import record
from tenants.models import Scope
from tenants.views import AGENT_ID, TenantView, answers


class SearchView(TenantView):
    scopes = {"POST": Scope.SEARCH}

    @extend_schema(
        operation_id="search",
        summary="Ask a question: the passages that answer it, the best first",
        description="`answers` says whether they answer it at all. Each search keeps a trace that "
        "explains its order: `explain` adds it to the answer.",
        parameters=[AGENT_ID],
        request=SearchRequest,
        responses=answers({200: SearchAnswerSerializer}, 400, 404, 413, 415, 503),
    )
    def post(self, request: Any, agent_id: str) -> Response:
        agent = self.boundary.agent(agent_id)
        sent = self.body(SearchRequest)
        retrieval = retrieve(
            agent, sent["question"], limit=sent.get("limit"), fusion=sent.get("fusion")
        )
        trace = record(agent, retrieval)
        return Response(answered(retrieval, trace, explain=sent["explain"]))
