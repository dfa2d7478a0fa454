"""Traces, for platform staff: to look at, never to edit."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from ingestion.admin import OfAnAgent, ReadOnly
from retrieval.models import Trace


@admin.register(Trace)
class TraceAdmin(ReadOnly, OfAnAgent):
    list_display = ("created_at", "tenant", "agent_slug", "beginning")
    list_filter = ("tenant", "created_at")
    search_fields = ("question",)
    ordering = ("-created_at",)
    show_full_result_count = False
    fields = ("question", "tenant", "agent", "created_at", "explained_by", "record")

    @admin.display(description="explained by")
    def explained_by(self, trace: Trace) -> str:
        return f"python manage.py explain {trace.pk}"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        rows = super().get_queryset(request)
        address = request.resolver_match
        listing = address is not None and (address.url_name or "").endswith("_changelist")
        return rows.defer("record") if listing else rows

    @admin.display(description="question")
    def beginning(self, trace: Trace) -> str:
        return trace.question[:80]
