"""What the API shows of documents, passages and jobs, and what it reads about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.fields import empty

from dolphy.inputs import Flag, Input, Text
from dolphy.marks import is_text, without_marks
from dolphy.pages import PageQuery
from ingestion.duplicates import report_of
from ingestion.models import Document, IngestionJob, Passage
from ingestion.unpack import Received

NEXT = "The cursor of the page after this; null on the last page."


class DocumentSerializer(serializers.ModelSerializer):
    agent = serializers.UUIDField(source="agent_id", read_only=True)

    class Meta:
        model = Document
        fields = [
            "id",
            "agent",
            "uri",
            "title",
            "state",
            "enabled",
            "media_type",
            "language",
            "size",
            "sha256",
            "passage_count",
            "report",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields


class PassageSerializer(serializers.ModelSerializer):
    class Meta:
        model = Passage
        fields = ["id", "position", "heading", "page", "text", "tokens"]
        read_only_fields = fields


class JobErrorSerializer(serializers.Serializer):
    code = serializers.CharField(help_text="Stable; made for programs.")
    message = serializers.CharField(help_text="Made for people; may change.")


class JobSerializer(serializers.ModelSerializer):
    agent = serializers.UUIDField(source="agent_id", read_only=True)
    document = serializers.UUIDField(source="document_id", read_only=True)
    unit = serializers.SerializerMethodField()
    error = serializers.SerializerMethodField()

    class Meta:
        model = IngestionJob
        fields = [
            "id",
            "agent",
            "document",
            "name",
            "state",
            "stage",
            "done",
            "total",
            "unit",
            "attempts",
            "error",
            "created_at",
            "started_at",
            "finished_at",
        ]
        read_only_fields = fields

    def get_unit(self, job: IngestionJob) -> str:
        """What `done` and `total` count: pages while the file is read, then passages."""
        return "pages" if job.counts_pages else "passages"

    @extend_schema_field(JobErrorSerializer(allow_null=True))
    def get_error(self, job: IngestionJob) -> dict[str, str] | None:
        """Why it failed; of an unfinished job, what it is waiting out."""
        return {"code": job.error_code, "message": job.error} if job.error_code else None


class ReceivedSerializer(serializers.Serializer):
    document = DocumentSerializer()
    job = JobSerializer()


class RefusedSerializer(JobErrorSerializer):
    uri = serializers.CharField(help_text="Where in the archive it lies.")


class ArchiveReceivedSerializer(serializers.Serializer):
    """An archive: a document and a job for each member, and what was not let in."""

    received = ReceivedSerializer(many=True)
    refused = RefusedSerializer(many=True)


class DocumentPageSerializer(serializers.Serializer):
    results = DocumentSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=NEXT)


class PassagePageSerializer(serializers.Serializer):
    results = PassageSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=NEXT)


class JobPageSerializer(serializers.Serializer):
    results = JobSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text=NEXT)


class DocumentQuery(PageQuery):
    state = serializers.ChoiceField(Document.State.choices, required=False)


class JobQuery(PageQuery):
    state = serializers.ChoiceField(IngestionJob.State.choices, required=False)
    document: Any = serializers.UUIDField(required=False)


class Title(Text):
    """A title, without the marks that show nothing or turn the rest around."""

    def run_validation(self, data: Any = empty) -> Any:
        is_sound = isinstance(data, str) and is_text(data)  # else the field says what is wrong
        return super().run_validation(without_marks(data) if is_sound else data)


class Upload(Input):
    file = serializers.FileField(allow_empty_file=True)
    uri = Text(
        required=False,
        allow_blank=True,
        max_length=1000,
        help_text="Which document this is a version of: its address, or any name you keep. "
        "The file's name when left out.",
    )
    title = Title(required=False, allow_blank=True, max_length=500)


class DocumentChange(Input):
    title = Title(required=False, trim_whitespace=True, max_length=500)
    enabled = Flag(required=False)


def filters(query: Mapping[str, Any], *names: str) -> dict[str, str | UUID]:
    """The parts of a query that narrow the rows."""
    return {name: query[name] for name in names if name in query}


def whole(document: Document) -> dict[str, Any]:
    """One document by itself: its report also says where else its text stands."""
    return {**DocumentSerializer(document).data, "report": report_of(document)}


def received(found: Received) -> dict[str, Any]:
    """What an upload became, as the API shows it: one document, or those of an archive."""
    pairs = [{"document": job.document, "job": job} for job in found.jobs]
    if not found.is_archive:
        return dict(ReceivedSerializer(pairs[0]).data)
    refused = [
        {"uri": uri, "code": error.code, "message": error.message} for uri, error in found.refused
    ]
    return dict(ArchiveReceivedSerializer({"received": pairs, "refused": refused}).data)
