"""The HTTP API's manners: what a body may be, and how every refusal reads.

An error answer is always `{"error": {"code", "message", …}}` with a stable code. Dolphy's own
errors know theirs; the framework's are translated here, once; what nobody foresaw becomes
`internal`, is logged with its traceback, and tells the caller nothing else.
"""

from __future__ import annotations

import io
import logging
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.http.request import UnreadablePostError
from django.views import defaults
from rest_framework import exceptions
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import JSONParser, MultiPartParser
from rest_framework.response import Response

from dolphy.errors import DolphyError, InvalidInput, NotFound, Unavailable
from dolphy.marks import is_utf8, sayable

logger = logging.getLogger(__name__)

JSON_BODY_BYTES = 256 * 1024
MULTIPART_OVERHEAD_BYTES = 64 * 1024  # boundaries, part headers and the fields beside the file


class Malformed(DolphyError):
    """The request's body or address is broken."""

    code = "malformed"
    status = 400


class TooLarge(DolphyError):
    """The request is larger than this server accepts."""

    code = "too_large"
    status = 413


class LengthRequired(DolphyError):
    """A body must say its size in Content-Length."""

    code = "length_required"
    status = 411


class Forbidden(DolphyError):
    """This is not allowed."""

    code = "forbidden"
    status = 403


class MethodNotAllowed(DolphyError):
    """This address does not answer to that method."""

    code = "method_not_allowed"
    status = 405


class UnsupportedMediaType(DolphyError):
    """This address does not take that kind of body."""

    code = "unsupported_media_type"
    status = 415


class Throttled(DolphyError):
    """Too many requests; try again later."""

    code = "throttled"
    status = 429


class Internal(DolphyError):
    """Something went wrong on our side; it has been logged."""

    code = "internal"
    status = 500


# Looked through in order: the first class that the error is an instance of decides.
TRANSLATIONS: tuple[tuple[type[Exception], type[DolphyError]], ...] = (
    (exceptions.ParseError, Malformed),
    (exceptions.NotFound, NotFound),
    (exceptions.PermissionDenied, Forbidden),
    (exceptions.NotAuthenticated, Forbidden),
    (exceptions.AuthenticationFailed, Forbidden),
    (exceptions.MethodNotAllowed, MethodNotAllowed),
    (exceptions.UnsupportedMediaType, UnsupportedMediaType),
    (exceptions.Throttled, Throttled),
    (RequestDataTooBig, TooLarge),
    (SuspiciousOperation, Malformed),
    (UnreadablePostError, Malformed),
    (Http404, NotFound),
    (PermissionDenied, Forbidden),
    (OperationalError, Unavailable),
    (InterfaceError, Unavailable),
)


def as_refusal(error: Exception) -> DolphyError:
    """The error as Dolphy says it; `Internal` for what nobody foresaw."""
    if isinstance(error, DolphyError):
        return error
    if isinstance(error, exceptions.ValidationError):
        return InvalidInput(fields=error.detail)
    for foreign, own in TRANSLATIONS:
        if isinstance(error, foreign):
            return own(str(getattr(error, "detail", "")))
    return Internal()


def answer_error(error: Exception, context: Mapping[str, Any]) -> Response:
    """Django REST framework's exception handler: every exception becomes an error answer."""
    refusal = as_refusal(error)
    if refusal.status >= 500:
        request = context["request"]
        logger.error("%s %s: %s", request.method, request.path, refusal.code, exc_info=error)
    headers = {"WWW-Authenticate": 'Bearer realm="dolphy"'} if refusal.status == 401 else None
    return Response({"error": said(refusal)}, status=refusal.status, headers=headers)


def said(refusal: DolphyError) -> object:
    """The refusal as it is sent: what it repeats of the caller's may be no text at all."""
    return sayable(refusal.as_dict())


class AlwaysJson(BaseContentNegotiation):
    """The API speaks JSON, whatever the caller says it would rather have."""

    def select_parser(self, request: Any, parsers: list[Any]) -> Any:
        kind = (request.content_type or "").split(";")[0].strip().lower()
        return next((parser for parser in parsers if parser.media_type == kind), None)

    def select_renderer(
        self, request: Any, renderers: list[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class JsonBody(JSONParser):
    """A JSON body of at most `JSON_BODY_BYTES`."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        body = stream.read(JSON_BODY_BYTES + 1)
        if len(body) > JSON_BODY_BYTES:
            raise TooLarge(f"A JSON body may have {JSON_BODY_BYTES:,} bytes.")
        try:
            return super().parse(io.BytesIO(body), media_type, parser_context)
        except RecursionError:
            raise Malformed("The JSON is nested too deeply.") from None


class UploadBody(MultiPartParser):
    """A multipart upload, refused by its announced size before any of it is parsed.

    The server reads no further than the announced size, so a body cannot be larger than it says.
    """

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        size = int((parser_context or {})["request"].META["CONTENT_LENGTH"])
        if size > settings.MAX_UPLOAD_BYTES + MULTIPART_OVERHEAD_BYTES:
            raise TooLarge(f"A file may have {settings.MAX_UPLOAD_BYTES:,} bytes.")
        return super().parse(stream, media_type, parser_context)


def require_length(request: Any) -> None:
    """The framework takes a body without a length for no body at all; here it is refused."""
    if request.headers.get("Transfer-Encoding") and not request.META.get("CONTENT_LENGTH"):
        raise LengthRequired


def require_utf8(request: Any) -> None:
    """The framework reads a request by any codec that its Content-Type names; here by one."""
    if not is_utf8(request.content_params.get("charset", "utf-8")):
        raise Malformed("Only UTF-8 is read.")


def _in_json(request: HttpRequest, refusal: DolphyError) -> HttpResponse | None:
    if request.path.startswith("/api/"):
        return JsonResponse({"error": said(refusal)}, status=refusal.status)
    return None


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's 404 for addresses that no view has, in JSON under /api/."""
    return _in_json(request, NotFound()) or defaults.page_not_found(request, exception)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's 400 for requests that reach no view, in JSON under /api/."""
    return _in_json(request, as_refusal(exception)) or defaults.bad_request(request, exception)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's 500 for failures outside a view, in JSON under /api/."""
    return _in_json(request, Internal()) or defaults.server_error(request)
