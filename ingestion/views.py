"""Documents and jobs over HTTP: each handler resolves, reads, acts and shows."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.files.storage import default_storage
from django.db.models import QuerySet
from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, PolymorphicProxySerializer, extend_schema
from rest_framework.response import Response

from dolphy import api, pages
from dolphy.errors import NotFound
from ingestion import documents
from ingestion import serializers as shapes
from ingestion.analysis.fold import fold
from ingestion.cancel import cancel
from ingestion.models import Document, IngestionJob, Passage
from ingestion.pause import pause, resume
from ingestion.receive import retry
from ingestion.unpack import receive_any
from tenants.models import Scope
from tenants.views import AGENT_ID, TenantView, answers

DOCUMENT_ID = OpenApiParameter("document_id", UUID, OpenApiParameter.PATH)
JOB_ID = OpenApiParameter("job_id", UUID, OpenApiParameter.PATH)
UPLOADED = PolymorphicProxySerializer(
    "Uploaded",
    [shapes.ReceivedSerializer, shapes.ArchiveReceivedSerializer],
    resource_type_field_name=None,
)


def one_page(shape: Any, rows: QuerySet[Any], order: pages.Order, query: Any) -> Response:
    found, following = pages.page(rows, order, cursor=query.get("cursor"), limit=query["limit"])
    return Response(shape({"results": found, "next": following}).data)


class DocumentsView(TenantView):
    scopes = {"GET": Scope.READ, "POST": Scope.WRITE}
    parser_classes = [api.UploadBody]

    @extend_schema(
        operation_id="documents_list",
        summary="An agent's documents, the newest first",
        description="A page of them, without their duplicates; `next` is the `cursor` of the page "
        "after it.",
        parameters=[AGENT_ID, shapes.DocumentQuery],
        responses=answers({200: shapes.DocumentPageSerializer}, 400, 404),
    )
    def get(self, request: Any, agent_id: str) -> Response:
        agent = self.boundary.agent(agent_id)
        query = self.query(shapes.DocumentQuery)
        rows = self.boundary.rows(Document, agent).filter(**shapes.filters(query, "state"))
        return one_page(shapes.DocumentPageSerializer, rows, pages.NEWEST_FIRST, query)

    @extend_schema(
        operation_id="documents_upload",
        summary="Upload a document, a new version of one, or a ZIP of documents",
        description="The same `uri` again is a new version, which takes the old one's place when "
        "it is ready; the same bytes again change nothing. The file is read by the job "
        "in the answer: follow it until it has ended.",
        parameters=[AGENT_ID],
        request={"multipart/form-data": shapes.Upload},
        responses=answers({202: UPLOADED}, 400, 403, 404, 411, 413, 415, 422),
    )
    def post(self, request: Any, agent_id: str) -> Response:
        agent = self.boundary.agent(agent_id)
        sent = self.body(shapes.Upload)
        found = receive_any(
            agent,
            name=sent["file"].name,
            data=sent["file"],
            uri=sent["uri"],
            title=sent["title"],
        )
        return Response(shapes.received(found), status=202)


class DocumentView(TenantView):
    scopes = {"GET": Scope.READ, "PATCH": Scope.WRITE, "DELETE": Scope.WRITE}

    @extend_schema(
        summary="One document",
        description="With `last_job`, which says why a document needs attention, and in its report "
        "the documents that hold the same text.",
        parameters=[DOCUMENT_ID],
        responses=answers({200: shapes.WholeDocumentSerializer}, 404),
    )
    def get(self, request: Any, document_id: str) -> Response:
        return Response(shapes.whole(self.boundary.row(Document, document_id)))

    @extend_schema(
        summary="Change a document's title, or whether it answers questions",
        description="What is left out stays. A new title is cited at once; a job indexes the "
        "document again under it.",
        parameters=[DOCUMENT_ID],
        request=shapes.DocumentChange,
        responses=answers({200: shapes.WholeDocumentSerializer}, 400, 404, 413, 415),
    )
    def patch(self, request: Any, document_id: str) -> Response:
        document = self.boundary.row(Document, document_id)
        change = self.body(shapes.DocumentChange)
        documents.change(document, **change)
        return Response(shapes.whole(document))

    @extend_schema(
        summary="Delete a document with its passages, jobs and file",
        description="The next search does not find it any more. It cannot be undone.",
        parameters=[DOCUMENT_ID],
        responses=answers({204: None}, 404),
    )
    def delete(self, request: Any, document_id: str) -> Response:
        documents.delete(self.boundary.row(Document, document_id))
        return Response(status=204)


class EnableView(TenantView):
    """`enabled` is given by the address."""

    scopes = {"POST": Scope.WRITE}
    enabled = True

    @extend_schema(
        summary="Let a document answer questions",
        description="The next search may find it again.",
        parameters=[DOCUMENT_ID],
        request=None,
        responses=answers({200: shapes.WholeDocumentSerializer}, 404),
    )
    def post(self, request: Any, document_id: str) -> Response:
        document = self.boundary.row(Document, document_id)
        documents.set_enabled(document, self.enabled)
        return Response(shapes.whole(document))


class DisableView(EnableView):
    enabled = False

    @extend_schema(
        summary="Keep a document from answering questions",
        description="It keeps its passages, and no search finds them until it is enabled.",
        parameters=[DOCUMENT_ID],
        request=None,
        responses=answers({200: shapes.WholeDocumentSerializer}, 404),
    )
    def post(self, request: Any, document_id: str) -> Response:
        return super().post(request, document_id)


class StoredFile(FileResponse):
    """A file sent a block at a time, whichever way the server reads it."""

    block_size = 256 * 1024

    def set_headers(self, filelike: Any) -> None:
        """Beside the true name a plain one, for clients that read no other."""
        super().set_headers(filelike)
        disposition = self.headers["Content-Disposition"]
        if "filename=" not in disposition:
            plain = fold(self.filename).encode("ascii", "ignore").decode()
            plain = re.sub(r"[^\w. -]", "_", plain)
            self.headers["Content-Disposition"] = disposition.replace(
                "attachment;", f'attachment; filename="{plain or "document"}";', 1
            )

    async def __aiter__(self) -> AsyncIterator[bytes]:
        blocks = iter(self)
        while block := await sync_to_async(lambda: next(blocks, b""))():
            yield block


class DocumentFileView(TenantView):
    scopes = {"GET": Scope.READ}

    @extend_schema(
        summary="The original file, byte for byte",
        description="The version that answers questions, as it was uploaded and under its name.",
        parameters=[DOCUMENT_ID],
        responses=answers({(200, "application/octet-stream"): OpenApiTypes.BINARY}, 404),
    )
    def get(self, request: Any, document_id: str) -> StoredFile:
        document = self.boundary.row(Document, document_id)
        if not document.file or not default_storage.exists(document.file):
            raise NotFound("This document has no file yet.")
        # Somebody else's file: to be saved, never to be shown or run in this site's name.
        return StoredFile(
            default_storage.open(document.file),
            as_attachment=True,
            filename=documents.original_name(document),
            content_type=document.media_type or "application/octet-stream",
            headers={
                "X-Content-Type-Options": "nosniff",
                "Content-Security-Policy": "sandbox; default-src 'none'",
                "Cache-Control": "private, no-store",
            },
        )


class PassagesView(TenantView):
    scopes = {"GET": Scope.READ}

    @extend_schema(
        operation_id="documents_passages",
        summary="The passages of a document, in its order",
        description="What evidence can cite of it: text, page and the headings above it.",
        parameters=[DOCUMENT_ID, pages.PageQuery],
        responses=answers({200: shapes.PassagePageSerializer}, 400, 404),
    )
    def get(self, request: Any, document_id: str) -> Response:
        document = self.boundary.row(Document, document_id)
        query = self.query(pages.PageQuery)
        rows = self.boundary.rows(Passage, document.agent).filter(document=document.pk)
        return one_page(shapes.PassagePageSerializer, rows, pages.BY_POSITION, query)


class JobsView(TenantView):
    scopes = {"GET": Scope.READ}

    @extend_schema(
        operation_id="jobs_list",
        summary="An agent's ingestion jobs, the newest first",
        description="`?document=ID` gives those of one document, `?state=failed` those that failed",
        parameters=[AGENT_ID, shapes.JobQuery],
        responses=answers({200: shapes.JobPageSerializer}, 400, 404),
    )
    def get(self, request: Any, agent_id: str) -> Response:
        agent = self.boundary.agent(agent_id)
        query = self.query(shapes.JobQuery)
        narrowed = shapes.filters(query, "state", "document")
        rows = self.boundary.rows(IngestionJob, agent).filter(**narrowed)
        return one_page(shapes.JobPageSerializer, rows, pages.NEWEST_FIRST, query)


class JobView(TenantView):
    scopes = {"GET": Scope.READ}

    @extend_schema(
        summary="One job: its state, its stage and how far it is",
        description="Ask until `state` is `succeeded`, `failed` or `cancelled`; `error` says why "
        "it failed.",
        parameters=[JOB_ID],
        responses=answers({200: shapes.JobSerializer}, 404),
    )
    def get(self, request: Any, job_id: str) -> Response:
        return Response(shapes.JobSerializer(self.boundary.row(IngestionJob, job_id)).data)


class CancelView(TenantView):
    scopes = {"POST": Scope.WRITE}

    @extend_schema(
        summary="Stop a job",
        description="What the document said before goes on being served.",
        parameters=[JOB_ID],
        request=None,
        responses=answers({200: shapes.JobSerializer}, 404, 409),
    )
    def post(self, request: Any, job_id: str) -> Response:
        job = self.boundary.row(IngestionJob, job_id)
        cancel(job)
        return Response(shapes.JobSerializer(job).data)


class PauseView(TenantView):
    scopes = {"POST": Scope.WRITE}

    @extend_schema(
        summary="Hold a job; it goes on where it was",
        description="It stops within a batch and keeps what it has.",
        parameters=[JOB_ID],
        request=None,
        responses=answers({200: shapes.JobSerializer}, 404, 409),
    )
    def post(self, request: Any, job_id: str) -> Response:
        job = self.boundary.row(IngestionJob, job_id)
        pause(job)
        return Response(shapes.JobSerializer(job).data)


class ResumeView(TenantView):
    scopes = {"POST": Scope.WRITE}

    @extend_schema(
        summary="Let a paused job go on",
        description="It is queued again and keeps what was done.",
        parameters=[JOB_ID],
        request=None,
        responses=answers({200: shapes.JobSerializer}, 404, 409),
    )
    def post(self, request: Any, job_id: str) -> Response:
        job = self.boundary.row(IngestionJob, job_id)
        resume(job)
        return Response(shapes.JobSerializer(job).data)


class RetryView(TenantView):
    scopes = {"POST": Scope.WRITE}

    @extend_schema(
        summary="Try a failed or cancelled job again",
        description="With the same bytes; refused once a newer version was uploaded.",
        parameters=[JOB_ID],
        request=None,
        responses=answers({202: shapes.JobSerializer}, 404, 409),
    )
    def post(self, request: Any, job_id: str) -> Response:
        job = retry(self.boundary.row(IngestionJob, job_id))
        return Response(shapes.JobSerializer(job).data, status=202)
