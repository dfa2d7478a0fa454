"""What the API shows of websites, syncs and pages, and what it reads about them."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from dolphy.inputs import Input, Text, Whole
from dolphy.pages import PageQuery
from ingestion.crawl.models import BOUNDS, MOST_PATTERNS, Page, Sync, Website
from ingestion.serializers import NEXT, JobErrorSerializer

PATTERN_HELP = (
    "Patterns with * for anything: /help/*, or a whole address. Nothing means everything."
)


class RepeatedSerializer(serializers.Serializer):
    text = serializers.CharField(help_text="How the block begins.")
    pages = serializers.IntegerField(help_text="How many pages hold it.")


class WebsiteSerializer(serializers.ModelSerializer):
    agent = serializers.UUIDField(source="agent_id", read_only=True)
    boilerplate = RepeatedSerializer(
        many=True, help_text="Blocks that repeat across the website and are left out."
    )

    class Meta:
        model = Website
        fields = [
            "id",
            "agent",
            "url",
            "include",
            "exclude",
            "page_limit",
            "depth_limit",
            "delay",
            "every_hours",
            "next_sync_at",
            "boilerplate",
            "created_at",
        ]
        read_only_fields = fields


class SyncSerializer(serializers.ModelSerializer):
    agent = serializers.UUIDField(source="agent_id", read_only=True)
    website = serializers.UUIDField(source="website_id", read_only=True)
    failed = serializers.DictField(child=serializers.IntegerField(), help_text="Pages by code.")
    skipped = serializers.DictField(child=serializers.IntegerField(), help_text="Pages by code.")
    error = serializers.SerializerMethodField()

    class Meta:
        model = Sync
        fields = [
            "id",
            "agent",
            "website",
            "number",
            "state",
            *Sync.COUNTS,
            "reasons",
            "error",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields

    @extend_schema_field(JobErrorSerializer(allow_null=True))
    def get_error(self, sync: Sync) -> dict[str, str] | None:
        return {"code": sync.error_code, "message": sync.error} if sync.error_code else None


class PageSerializer(serializers.ModelSerializer):
    document = serializers.UUIDField(source="document_id", allow_null=True, read_only=True)

    class Meta:
        model = Page
        fields = [
            "url",
            "kind",
            "state",
            "code",
            "status",
            "depth",
            "alias_of",
            "document",
            "boilerplate_removed",
            "fetched_at",
        ]
        read_only_fields = fields


class WebsitePageSerializer(serializers.Serializer):
    results = WebsiteSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=NEXT)


class SyncPageSerializer(serializers.Serializer):
    results = SyncSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=NEXT)


class PagePageSerializer(serializers.Serializer):
    results = PageSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=NEXT)


class PagesQuery(PageQuery):
    code = Text(
        required=False,
        allow_blank=True,
        max_length=64,
        help_text="How it ended: nothing for pages with content, else why there is none.",
    )


class Seconds(serializers.FloatField):
    """A JSON number."""

    def to_internal_value(self, data: Any) -> float:
        if isinstance(data, (str, bool)):
            self.fail("invalid")
        try:
            number = float(super().to_internal_value(data))
        except OverflowError:
            self.fail("invalid")
        return number


def _within(name: str) -> dict[str, int]:
    least, most = BOUNDS[name]
    return {"min_value": least, "max_value": most}


def _patterns() -> serializers.ListField:
    return serializers.ListField(
        child=Text(max_length=500),
        required=False,
        max_length=MOST_PATTERNS,
        help_text=PATTERN_HELP,
    )


class WebsiteChange(Input):
    include = _patterns()
    exclude = _patterns()
    page_limit = Whole(required=False, **_within("page_limit"))
    depth_limit = Whole(required=False, **_within("depth_limit"))
    delay = Seconds(
        required=False,
        **_within("delay"),
        help_text="Seconds between two requests; robots.txt can ask for more.",
    )
    every_hours = Whole(
        required=False,
        allow_null=True,
        **_within("every_hours"),
        help_text="Sync again by itself; null for only when asked.",
    )


class NewWebsite(WebsiteChange):
    url = Text(max_length=1000, trim_whitespace=True, help_text="A page, or a sitemap.")
