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
from ingestion.documents import last_job
from ingestion.duplicates import report_of
from ingestion.models import Document, IngestionJob, Passage
from ingestion.unpack import Received

NEXT = "The cursor of the page after this; null on the last page."


class DuplicateSerializer(serializers.Serializer):
    document = serializers.UUIDField()
    uri = serializers.CharField()
    title = serializers.CharField()
    enabled = serializers.BooleanField()
    passages = serializers.IntegerField(
        help_text="How many passages of the document asked about this one holds as well."
    )


class ReportSerializer(serializers.Serializer):
    """What was found in a document when it was read; empty before that."""

    media_type = serializers.CharField(required=False, help_text="Judged by the content.")
    charset = serializers.CharField(
        required=False, allow_null=True, help_text="Null for files that say so themselves."
    )
    pages = serializers.IntegerField(
        required=False, allow_null=True, help_text="Pages, slides or sheets."
    )
    pages_without_text = serializers.ListField(
        child=serializers.IntegerField(), required=False, help_text="Their numbers, from 1."
    )
    characters = serializers.IntegerField(required=False, help_text="Readable ones, with tables.")
    garble_ratio = serializers.FloatField(
        required=False, help_text="The share of characters that cannot be right, 0 to 1."
    )
    tables = serializers.IntegerField(required=False)
    language = serializers.CharField(required=False, allow_null=True)
    boilerplate_removed = serializers.IntegerField(
        required=False, help_text="Blocks left out: navigation, banners, headers and footers."
    )
    repeated_blocks = serializers.IntegerField(
        required=False, help_text="Pages of websites: blocks left out as they repeat on its pages."
    )
    repeated_characters = serializers.IntegerField(
        required=False, help_text="Pages of websites: how long those blocks are."
    )
    warnings = serializers.ListField(
        child=serializers.CharField(), required=False, help_text="What a person should look at."
    )
    duplicates = DuplicateSerializer(
        many=True,
        required=False,
        help_text="Documents that hold most of the same text; not in lists.",
    )


@extend_schema_field(ReportSerializer)
class ReportField(serializers.JSONField):
    """A report as it is stored; its schema is what parsing writes."""


class DocumentSerializer(serializers.ModelSerializer):
    agent = serializers.UUIDField(source="agent_id", read_only=True)
    title = serializers.SerializerMethodField(
        help_text="Shown and indexed: the one given, else the file's own."
    )
    report = ReportField(read_only=True)

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

    def get_title(self, document: Document) -> str:
        """Until its first version is read a document has no title but the one it was given."""
        return document.title or document.given_title


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


class LastJobSerializer(JobSerializer):
    class Meta(JobSerializer.Meta):
        fields = ["id", "state", "stage", "error", "created_at", "finished_at"]
        read_only_fields = fields


class WholeDocumentSerializer(DocumentSerializer):
    """A document by itself: with what became of its newest version, and why."""

    last_job = serializers.SerializerMethodField()

    class Meta(DocumentSerializer.Meta):
        fields = [*DocumentSerializer.Meta.fields, "last_job"]
        read_only_fields = fields

    @extend_schema_field(LastJobSerializer(allow_null=True))
    def get_last_job(self, document: Document) -> dict[str, Any] | None:
        job = last_job(document)
        return None if job is None else dict(LastJobSerializer(job).data)


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
        default="",
        allow_blank=True,
        max_length=1000,
        help_text="Which document this is a version of: its address, or any name you keep. "
        "The file's name when left out.",
    )
    title = Title(
        default="",
        allow_blank=True,
        max_length=500,
        help_text="Shown and indexed. What the file calls itself when left out.",
    )


class DocumentChange(Input):
    title = Title(required=False, trim_whitespace=True, max_length=500)
    enabled = Flag(required=False)


def filters(query: Mapping[str, Any], *names: str) -> dict[str, str | UUID]:
    """The parts of a query that narrow the rows."""
    return {name: query[name] for name in names if name in query}


def whole(document: Document) -> dict[str, Any]:
    """One document by itself: its report also says where else its text stands."""
    return {**WholeDocumentSerializer(document).data, "report": report_of(document)}


def received(found: Received) -> dict[str, Any]:
    """What an upload became, as the API shows it: one document, or those of an archive."""
    pairs = [{"document": job.document, "job": job} for job in found.jobs]
    if not found.is_archive:
        return dict(ReceivedSerializer(pairs[0]).data)
    refused = [
        {"uri": uri, "code": error.code, "message": error.message} for uri, error in found.refused
    ]
    return dict(ArchiveReceivedSerializer({"received": pairs, "refused": refused}).data)
