"""Documents and how they were ingested, for platform staff: to look at, not to edit.

What is denormalised must not be typed over, so the few changes go through the acts that keep it
whole. The narrow table, the words and the statistics have composite keys, which this admin cannot
show.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import mark_safe

from ingestion import documents
from ingestion.crawl.models import Page, Sync, Website
from ingestion.duplicates import duplicates_of
from ingestion.models import (
    Document,
    EmbeddingSpace,
    Index,
    IndexProbe,
    IngestionJob,
    Passage,
    SpaceProbe,
    Turn,
)
from ingestion.removal import hide


class ReadOnly:
    """Mixin: nothing is added, changed or deleted here."""

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class OfAnAgent(admin.ModelAdmin):
    """Rows of one agent of one tenant, both loaded with the list."""

    list_select_related: ClassVar[Any] = ("tenant", "agent")

    @admin.display(description="agent", ordering="agent__slug")
    def agent_slug(self, row: Any) -> str:
        return str(row.agent.slug)


@admin.register(EmbeddingSpace)
class EmbeddingSpaceAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ("model", "provider", "dimensions", "revision", "created_at")


@admin.register(Index)
class IndexAdmin(ReadOnly, OfAnAgent):
    list_display = ("id", "tenant", "agent_slug", "space", "state", "passages", "has_graph")
    list_filter = ("tenant", "state", "has_graph", "space")
    list_select_related = ("tenant", "agent", "space")


@admin.register(Document)
class DocumentAdmin(OfAnAgent):
    list_display = (
        "uri",
        "title",
        "tenant",
        "agent_slug",
        "state_name",
        "enabled",
        "passage_count",
        "updated_at",
    )
    list_filter = ("tenant", "state", "enabled", "media_type", "language")
    search_fields = ("uri", "title")
    ordering = ("-updated_at",)
    actions = ("enable", "disable")
    fields = (
        "tenant",
        "agent",
        "uri",
        "title",
        "given_title",
        "state",
        "enabled",
        "last_job",
        "its_passages",
        "same_text_in",
        "what_was_found",
        "media_type",
        "language",
        "size",
        "sha256",
        "file",
        "created_at",
        "updated_at",
    )
    readonly_fields = (
        "last_job",
        "its_passages",
        "same_text_in",
        "what_was_found",
        "created_at",
        "updated_at",
    )

    @admin.display(description="last job")
    def last_job(self, document: Document) -> str:
        job = documents.last_job(document)
        if job is None:
            return "none"
        link = _link(job, f"{job.state}, {job.created_at:%Y-%m-%d %H:%M} UTC")
        if not job.error_code:
            return link
        return format_html("{}<br><code>{}</code> {}", link, job.error_code, job.error)

    @admin.display(description="passages")
    def its_passages(self, document: Document) -> str:
        if not document.passage_count:
            return "none"
        count = f"{document.passage_count:,}"
        return _listed("ingestion_passage", count, document__id__exact=document.pk)

    @admin.display(description="the same text now stands in")
    def same_text_in(self, document: Document) -> str:
        rows = [
            (
                reverse("admin:ingestion_document_change", args=[other.document]),
                other.title or other.uri,
                f"{other.passages} of {document.passage_count} passages, {other.uri}"
                + ("" if other.enabled else ", disabled"),
            )
            for other in duplicates_of(document)
        ]
        return (
            format_html_join(
                mark_safe("<br>"),
                '<a href="{}">{}</a> ({})',
                rows,
            )
            or "no other document"
        )

    @admin.display(description="what was found when it was ingested")
    def what_was_found(self, document: Document) -> str:
        rows = [
            (name.replace("_", " "), _said(value))
            for name, value in document.report.items()
            if value is not None
        ]
        return _table(rows) or "nothing yet"

    @admin.display(description="state", ordering="state")
    def state_name(self, document: Document) -> str:
        return document.state

    def has_add_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        # The list needs it for its actions; a single document is only shown.
        return obj is None and super().has_change_permission(request)

    def delete_model(self, request: HttpRequest, obj: Document) -> None:
        documents.delete(obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        of_agents: dict[tuple[UUID, UUID], list[UUID]] = {}
        for key, tenant, agent in queryset.values_list("pk", "tenant_id", "agent_id"):
            of_agents.setdefault((tenant, agent), []).append(key)
        for (tenant, agent), keys in of_agents.items():
            hide(tenant, agent, keys)

    @admin.action(description="Let the selected documents answer", permissions=["change"])
    def enable(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset:
            documents.set_enabled(document, True)

    @admin.action(description="Keep the selected documents from answering", permissions=["change"])
    def disable(self, request: HttpRequest, queryset: QuerySet[Document]) -> None:
        for document in queryset:
            documents.set_enabled(document, False)


def _link(row: Any, text: object) -> str:
    """A link to a row's page in this admin."""
    name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
    return format_html('<a href="{}">{}</a>', reverse(name, args=[row.pk]), text)


def _listed(rows: str, text: str, **narrowed: object) -> str:
    """A link to the list of `rows`, an app and a model, narrowed to some of them."""
    there = f"{reverse(f'admin:{rows}_changelist')}?{urlencode(narrowed)}"
    return format_html('<a href="{}">{}</a>', there, text)


def _table(rows: Sequence[tuple[object, object]]) -> str:
    """Names and values, one a line; empty without any."""
    lines = format_html_join("", "<tr><th>{}</th><td>{}</td></tr>", rows)
    return format_html("<table>{}</table>", lines) if rows else ""


def folded(summary: str, value: object) -> str:
    """JSON that opens when it is asked for."""
    text = json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True)
    return format_html(
        "<details><summary>{}</summary><pre>{}</pre></details>",
        summary,
        text,
    )


def _said(value: object) -> str:
    """A value of a report as a person reads it."""
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


@admin.register(Passage)
class PassageAdmin(ReadOnly, OfAnAgent):
    list_display = ("id", "tenant", "agent_slug", "uri", "position", "beginning")
    list_filter = ("tenant",)
    list_select_related = ("tenant", "agent", "document")
    search_fields = ("document__uri",)
    show_full_result_count = False

    @admin.display(ordering="document__uri")
    def uri(self, passage: Passage) -> str:
        return passage.document.uri

    @admin.display
    def beginning(self, passage: Passage) -> str:
        return passage.text[:80]


@admin.register(IngestionJob)
class IngestionJobAdmin(ReadOnly, OfAnAgent):
    list_display = (
        "name",
        "tenant",
        "agent_slug",
        "state",
        "stage",
        "progress",
        "attempts",
        "error_code",
        "created_at",
    )
    list_filter = ("tenant", "state", "stage", "error_code")
    search_fields = ("name",)
    ordering = ("-created_at",)

    @admin.display
    def progress(self, job: IngestionJob) -> str:
        unit = "pages" if job.counts_pages else "passages"
        return f"{job.done:,} of {job.total:,} {unit}" if job.total else ""


@admin.register(Turn)
class TurnAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ("tenant", "served_at")
    list_filter = ("tenant",)
    list_select_related = ("tenant",)
    ordering = ("served_at",)


@admin.register(IndexProbe)
class IndexProbeAdmin(ReadOnly, OfAnAgent):
    list_display = ("index", "tenant", "agent_slug", "median", "lowest", "compared", "measured_at")
    list_filter = ("tenant", "error_code")
    list_select_related = ("tenant", "agent", "index")


@admin.register(SpaceProbe)
class SpaceProbeAdmin(ReadOnly, admin.ModelAdmin):
    list_display = ("space", "median", "lowest", "compared", "below", "measured_at")
    list_select_related = ("space",)


@admin.register(Website)
class WebsiteAdmin(ReadOnly, OfAnAgent):
    list_display = ("url", "tenant", "agent_slug", "every_hours", "next_sync_at", "created_at")
    list_filter = ("tenant",)
    search_fields = ("url",)
    exclude = ("boilerplate",)
    readonly_fields = ("repeated", "its_syncs", "its_pages")

    @admin.display(description="blocks left out because they repeat")
    def repeated(self, website: Website) -> str:
        rows = [(one["text"], f"{one['pages']:,} pages") for one in website.boilerplate]
        return _table(rows) or "none"

    @admin.display(description="syncs")
    def its_syncs(self, website: Website) -> str:
        return _listed("ingestion_sync", "the history of its syncs", website__id__exact=website.pk)

    @admin.display(description="pages")
    def its_pages(self, website: Website) -> str:
        return _listed("ingestion_page", "its pages", website__id__exact=website.pk)


@admin.register(Sync)
class SyncAdmin(ReadOnly, OfAnAgent):
    list_display = (
        "title",
        "tenant",
        "agent_slug",
        "state",
        "finished_at",
        "found",
        "added",
        "changed",
        "gone",
        "pages_failed",
        "created_at",
    )
    list_filter = ("tenant", "state", "website")
    list_select_related = ("tenant", "agent", "website")
    ordering = ("-created_at",)
    fields = (
        "its_website",
        "tenant",
        "agent",
        "state",
        "why",
        "counts",
        "its_pages",
        "created_at",
        "started_at",
        "finished_at",
        "robots_txt",
    )
    readonly_fields = ("its_website", "why", "counts", "its_pages", "robots_txt")

    @admin.display(description="sync", ordering="number")
    def title(self, sync: Sync) -> str:
        return f"{sync.number} of {sync.website.url}"

    @admin.display(description="pages failed")
    def pages_failed(self, sync: Sync) -> int:
        return sum(sync.failed.values())

    @admin.display(description="website")
    def its_website(self, sync: Sync) -> str:
        return _link(sync.website, sync.website.url)

    @admin.display
    def why(self, sync: Sync) -> str:
        said = [*sync.reasons, *filter(None, (sync.error_code, sync.error))]
        return ", ".join(said) or "nothing went wrong"

    @admin.display
    def counts(self, sync: Sync) -> str:
        """Each count, and those of `failed` and `skipped` by their code."""
        rows: list[tuple[str, object]] = []
        for name in Sync.COUNTS:
            value = getattr(sync, name)
            by_code = value if isinstance(value, dict) else {}
            rows.append((name, f"{sum(by_code.values()) if by_code == value else value:,}"))
            rows += [(f"{name}: {code}", f"{pages:,}") for code, pages in sorted(by_code.items())]
        return _table(rows)

    @admin.display(description="pages")
    def its_pages(self, sync: Sync) -> str:
        return _listed("ingestion_page", "of the website", website__id__exact=sync.website_id)

    @admin.display(description="robots.txt")
    def robots_txt(self, sync: Sync) -> str:
        return folded("as it was read", sync.robots) if sync.robots else "not read"

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        context |= {"title": f"Sync {self.title(obj)}", "subtitle": None}
        return super().render_change_form(request, context, add, change, form_url, obj)


@admin.register(Page)
class PageAdmin(ReadOnly, OfAnAgent):
    list_display = ("url", "tenant", "agent_slug", "kind", "state", "code", "status", "fetched_at")
    list_filter = ("tenant", "state", "kind", "code", "website")
    search_fields = ("url",)
