"""Traces, for platform staff: to look at, never to edit."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from ingestion.admin import OfAnAgent, ReadOnly, folded
from ingestion.models import Passage
from retrieval.fates import VERDICTS
from retrieval.models import Trace
from retrieval.show import judgement, slips_said


@admin.register(Trace)
class TraceAdmin(ReadOnly, OfAnAgent):
    list_display = ("created_at", "tenant", "agent_slug", "beginning")
    list_filter = ("tenant", "created_at")
    search_fields = ("question",)
    ordering = ("-created_at",)
    show_full_result_count = False
    fields = (
        "question", "tenant", "agent", "created_at", "explained_by", "slips", "embedded", "answers",
    )  # fmt: skip
    change_form_template = "retrieval/trace.html"

    @admin.display(description="read as")
    def embedded(self, trace: Trace) -> str:
        return str(trace.record.get("embedded") or "as typed")

    @admin.display(description="slips put right")
    def slips(self, trace: Trace) -> str:
        return slips_said(trace.record)

    @admin.display(description="does the evidence answer?")
    def answers(self, trace: Trace) -> str:
        return judgement(trace.record)

    def render_change_form(
        self,
        request: HttpRequest,
        context: Any,
        add: bool = False,
        change: bool = False,
        form_url: str = "",
        obj: Any = None,
    ) -> Any:
        context |= explained(obj)
        return super().render_change_form(request, context, add, change, form_url, obj)

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


def explained(trace: Trace) -> dict[str, Any]:
    """What `retrieval/trace.html` shows of a trace: as `manage.py explain`, with the headings."""
    record = trace.record
    candidates = record.get("candidates", [])
    names = [root["root"] for root in record.get("roots", [])]
    passages = Passage.objects.filter(
        tenant=trace.tenant_id, agent=trace.agent_id, pk__in=[row["passage"] for row in candidates]
    )
    there = {passage.pk: passage for passage in passages.select_related("document")}
    verdicts = {row["verdict"] for row in candidates}
    return {
        "candidates": [
            {
                **row,
                "there": there.get(row["passage"]),
                "words": ", ".join(names[number] for number in row["roots"]),
            }
            for row in candidates
        ],
        "verdicts": {name: said for name, said in VERDICTS.items() if name in verdicts},
        "roots": record.get("roots", []),
        "settings_of_trace": record.get("settings", {}),
        "surroundings": {
            name: record[name]
            for name in ("space", "analyser", "route", "passages", "trust", "vector_from")
            if name in record
        },
        "raw": folded("The whole record as JSON", record),
    }
