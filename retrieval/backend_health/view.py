"""The door of `/backend-health`: who may see it, and in which form.

It names every tenant's agents, so it is for platform staff, signed in, and for the operator's
monitoring, which brings HEALTH_TOKEN as `Authorization: Bearer …`; without that setting no token
opens it. Programs get JSON (`Accept: application/json` or `?format=json`), a person gets a page.
"""

from __future__ import annotations

import secrets
from urllib.parse import urlencode

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from dolphy.errors import DolphyError
from retrieval.backend_health.report import report


class SignInNeeded(DolphyError):
    """Sign in as platform staff, or bring the operator's token."""

    code = "sign_in_needed"
    status = 401


class StaffOnly(DolphyError):
    """Only platform staff may see this."""

    code = "staff_only"
    status = 403


@never_cache
@require_safe
def backend_health(request: HttpRequest) -> HttpResponse:
    refusal = _refusal(request)
    if _wants_json(request):
        return _refused(refusal) if refusal else JsonResponse(report())
    if isinstance(refusal, SignInNeeded):
        back = urlencode({"next": request.get_full_path()})
        return HttpResponseRedirect(f"{settings.LOGIN_URL}?{back}")
    if refusal:
        return HttpResponse(refusal.message, status=refusal.status, content_type="text/plain")
    health = report()
    waiting = sum(health["queue"]["waiting"].values())
    context = {"health": health, "waiting": waiting}
    return render(request, "retrieval/backend_health.html", context)


def _refusal(request: HttpRequest) -> DolphyError | None:
    if _has_token(request):
        return None
    user = request.user
    if not user.is_authenticated:
        return SignInNeeded()
    return None if user.is_active and user.is_staff else StaffOnly()


def _has_token(request: HttpRequest) -> bool:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not settings.HEALTH_TOKEN:
        return False
    return secrets.compare_digest(token.strip().encode(), settings.HEALTH_TOKEN.encode())


def _wants_json(request: HttpRequest) -> bool:
    if request.GET.get("format") == "json":
        return True
    return request.get_preferred_type(["text/html", "application/json"]) == "application/json"


def _refused(refusal: DolphyError) -> JsonResponse:
    answer = JsonResponse({"error": refusal.as_dict()}, status=refusal.status)
    if refusal.status == 401:
        answer["WWW-Authenticate"] = 'Bearer realm="dolphy"'
    return answer
