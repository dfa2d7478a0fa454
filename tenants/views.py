"""The door of the API, and the agents behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from dolphy import api, inputs, pages
from tenants.scope import Boundary
from tenants.serializers import AgentPageSerializer, AgentSerializer, ErrorSerializer

AGENT_ID = OpenApiParameter("agent_id", UUID, OpenApiParameter.PATH)


def answers(expected: dict[Any, Any], *refusals: int) -> dict[Any, Any]:
    """The answers an operation documents: what it gives, and how it refuses."""
    return expected | dict.fromkeys((401, 403, *refusals), ErrorSerializer)


class TenantView(APIView):
    """A view inside a tenant: `boundary` is all that its caller can see.

    A handler resolves what its address names before it reads its body: what is not there is a 404
    whatever was sent.
    """

    scopes: ClassVar[Mapping[str, str | None]]
    parser_classes = [api.JsonBody]
    content_negotiation_class = api.AlwaysJson
    metadata_class = None

    @property
    def boundary(self) -> Boundary:
        boundary: Boundary = self.request.user
        return boundary

    def query(self, kind: type[inputs.Input]) -> Mapping[str, Any]:
        api.require_utf8(self.request)
        return inputs.read(kind, self.request.query_params.dict())

    def body(self, kind: type[inputs.Input]) -> Mapping[str, Any]:
        api.require_length(self.request)
        api.require_utf8(self.request)
        return inputs.read(kind, self.request.data)


class AgentsView(TenantView):
    scopes = {"GET": None}

    @extend_schema(
        operation_id="agents_list",
        summary="The agents this key may use",
        description="Their ids stand in the addresses of all that is an agent's.",
        parameters=[pages.PageQuery],
        responses=answers({200: AgentPageSerializer}, 400),
    )
    def get(self, request: Any) -> Response:
        found, following = pages.page(
            self.boundary.agents(), pages.NEWEST_FIRST, **self.query(pages.PageQuery)
        )
        return Response(AgentPageSerializer({"results": found, "next": following}).data)


class AgentView(TenantView):
    scopes = {"GET": None}

    @extend_schema(
        summary="One agent with its settings",
        description="How it fuses, how deep it looks, and how much evidence it gives.",
        parameters=[AGENT_ID],
        responses=answers({200: AgentSerializer}, 404),
    )
    def get(self, request: Any, agent_id: str) -> Response:
        return Response(AgentSerializer(self.boundary.agent(agent_id)).data)
