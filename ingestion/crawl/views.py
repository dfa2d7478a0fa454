"""Websites and their syncs over HTTP: each handler resolves, reads, acts and shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.response import Response

from dolphy import pages
from ingestion.crawl import serializers as shapes
from ingestion.crawl import websites
from ingestion.crawl.models import Page, Sync, Website
from ingestion.views import one_page
from tenants.models import Scope
from tenants.views import AGENT_ID, TenantView, answers

WEBSITE_ID = OpenApiParameter("website_id", UUID, OpenApiParameter.PATH)
SYNC_ID = OpenApiParameter("sync_id", UUID, OpenApiParameter.PATH)
ACT: dict[str, Any] = {
    "parameters": [SYNC_ID],
    "request": None,
    "responses": answers({200: shapes.SyncSerializer}, 404, 409),
}


class WebsitesView(TenantView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @extend_schema(
        operation_id="websites_list",
        summary="An agent's websites, the newest first",
        parameters=[AGENT_ID, pages.PageQuery],
        responses=answers({200: shapes.WebsitePageSerializer}, 400, 404),
    )
    def get(self, request: Any, agent_id: str) -> Response:
        agent = self.boundary.agent(agent_id)
        query = self.query(pages.PageQuery)
        rows = self.boundary.rows(Website, agent)
        return one_page(shapes.WebsitePageSerializer, rows, pages.NEWEST_FIRST, query)

    @extend_schema(
        operation_id="websites_create",
        summary="Add a website; its first sync begins at once",
        parameters=[AGENT_ID],
        request=shapes.NewWebsite,
        responses=answers({201: shapes.WebsiteSerializer}, 400, 404, 409, 411, 413, 415),
    )
    def post(self, request: Any, agent_id: str) -> Response:
        agent = self.boundary.agent(agent_id)
        website = websites.create(agent, **self.body(shapes.NewWebsite))
        return Response(shapes.WebsiteSerializer(website).data, status=201)


class WebsiteView(TenantView):
    scopes = {"GET": Scope.READ, "PATCH": Scope.WRITE, "DELETE": Scope.WRITE}

    @extend_schema(
        summary="One website, with the blocks that repeat across it",
        parameters=[WEBSITE_ID],
        responses=answers({200: shapes.WebsiteSerializer}, 404),
    )
    def get(self, request: Any, website_id: str) -> Response:
        return Response(shapes.WebsiteSerializer(self.boundary.row(Website, website_id)).data)

    @extend_schema(
        summary="Change what belongs to a website and how it is crawled",
        parameters=[WEBSITE_ID],
        request=shapes.WebsiteChange,
        responses=answers({200: shapes.WebsiteSerializer}, 400, 404, 411, 413, 415),
    )
    def patch(self, request: Any, website_id: str) -> Response:
        website = self.boundary.row(Website, website_id)
        websites.change(website, **self.body(shapes.WebsiteChange))
        return Response(shapes.WebsiteSerializer(website).data)

    @extend_schema(
        summary="Remove a website with its documents and its history",
        parameters=[WEBSITE_ID],
        responses=answers({204: None}, 404),
    )
    def delete(self, request: Any, website_id: str) -> Response:
        websites.remove(self.boundary.row(Website, website_id))
        return Response(status=204)


class WebsitePagesView(TenantView):
    scopes = {"GET": Scope.READ}

    @extend_schema(
        operation_id="websites_pages",
        summary="The pages that syncs came to, and how each ended",
        description="What patterns exclude, traps and addresses beyond a limit have no row: "
        "they are counted under `skipped` of the sync.",
        parameters=[
            WEBSITE_ID,
            shapes.PagesQuery,
            OpenApiParameter("code", OpenApiTypes.STR, OpenApiParameter.QUERY),
        ],
        responses=answers({200: shapes.PagePageSerializer}, 400, 404),
    )
    def get(self, request: Any, website_id: str) -> Response:
        website = self.boundary.row(Website, website_id)
        query = self.query(shapes.PagesQuery)
        rows = self.boundary.rows(Page, website.agent).filter(website=website.pk)
        if "code" in query:
            rows = rows.filter(code=query["code"])
        rows = rows.defer("content", "blocks", "links", "dropped")
        return one_page(shapes.PagePageSerializer, rows, pages.BY_URL, query)


class SyncsView(TenantView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}

    @extend_schema(
        operation_id="websites_syncs",
        summary="The history of a website's syncs, the newest first",
        parameters=[WEBSITE_ID, pages.PageQuery],
        responses=answers({200: shapes.SyncPageSerializer}, 400, 404),
    )
    def get(self, request: Any, website_id: str) -> Response:
        website = self.boundary.row(Website, website_id)
        query = self.query(pages.PageQuery)
        rows = self.boundary.rows(Sync, website.agent).filter(website=website.pk)
        return one_page(shapes.SyncPageSerializer, rows, pages.NEWEST_FIRST, query)

    @extend_schema(
        operation_id="websites_sync",
        summary="Sync a website now",
        parameters=[WEBSITE_ID],
        request=None,
        responses=answers({202: shapes.SyncSerializer}, 404, 409),
    )
    def post(self, request: Any, website_id: str) -> Response:
        sync = websites.sync(self.boundary.row(Website, website_id))
        return Response(shapes.SyncSerializer(sync).data, status=202)


class SyncView(TenantView):
    scopes = {"GET": Scope.READ}

    @extend_schema(
        summary="One sync: its state and its counts",
        parameters=[SYNC_ID],
        responses=answers({200: shapes.SyncSerializer}, 404),
    )
    def get(self, request: Any, sync_id: str) -> Response:
        return Response(shapes.SyncSerializer(self.boundary.row(Sync, sync_id)).data)


class SyncActView(TenantView):
    """What is done to one sync: each act is a view of its own, with its own summary."""

    scopes = {"POST": Scope.WRITE}

    def done(self, sync_id: str, act: Callable[[Sync], None]) -> Response:
        sync = self.boundary.row(Sync, sync_id)
        act(sync)
        return Response(shapes.SyncSerializer(sync).data)


class CancelSyncView(SyncActView):
    @extend_schema(summary="End a sync; what it brought stays, nothing is removed", **ACT)
    def post(self, request: Any, sync_id: str) -> Response:
        return self.done(sync_id, websites.cancel)


class PauseSyncView(SyncActView):
    @extend_schema(summary="Hold a sync where it is", **ACT)
    def post(self, request: Any, sync_id: str) -> Response:
        return self.done(sync_id, websites.pause)


class ResumeSyncView(SyncActView):
    @extend_schema(summary="Let a paused sync go on", **ACT)
    def post(self, request: Any, sync_id: str) -> Response:
        return self.done(sync_id, websites.resume)
