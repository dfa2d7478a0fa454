"""API keys at the door: who is calling, for which tenant, and what they may do.

A key comes as `Authorization: Bearer dlp_…` or `X-Api-Key: dlp_…`. Its SHA-256 is looked up, never
the key, so neither timing nor the database tells anything about a key that is close to a real one.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission

from dolphy.errors import DolphyError
from tenants.models import ApiKey
from tenants.scope import Boundary

USE_IS_NOTED_EVERY = timedelta(minutes=1)


class KeyMissing(DolphyError):
    """An API key is needed: `Authorization: Bearer dlp_…`."""

    code = "key_missing"
    status = 401


class KeyUnknown(DolphyError):
    """This API key is not known."""

    code = "key_unknown"
    status = 401


class KeyRevoked(DolphyError):
    """This API key has been revoked."""

    code = "key_revoked"
    status = 401


class KeyExpired(DolphyError):
    """This API key has expired."""

    code = "key_expired"
    status = 401


class TenantInactive(DolphyError):
    """This tenant is not active."""

    code = "tenant_inactive"
    status = 403


class ScopeMissing(DolphyError):
    """This API key does not have the scope that this needs."""

    code = "scope_missing"
    status = 403


def presented(headers: Any) -> str:
    """The secret that the request brings; KeyMissing when it brings none."""
    scheme, _, secret = headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        secret = headers.get("X-Api-Key", "")
    if not secret.strip():
        raise KeyMissing
    return str(secret.strip())


def live_key(secret: str) -> ApiKey:
    """The key that this secret opens with, its tenant loaded; otherwise the reason why not."""
    key = ApiKey.objects.select_related("tenant").filter(hash=ApiKey.digest(secret)).first()
    if key is None:
        raise KeyUnknown
    if not key.is_live():
        raise KeyRevoked if key.revoked_at else KeyExpired
    if not key.tenant.is_active:
        raise TenantInactive
    return key


def note_use(key: ApiKey) -> None:
    """Keep when the key was last used, to the minute; a request never waits for another's note."""
    now = timezone.now()
    if key.last_used_at and now - key.last_used_at < USE_IS_NOTED_EVERY:
        return
    stale = Q(last_used_at=None) | Q(last_used_at__lte=now - USE_IS_NOTED_EVERY)
    mine = ApiKey.objects.filter(stale, pk=key.pk, tenant=key.tenant_id)
    with transaction.atomic():
        free = mine.select_for_update(skip_locked=True, no_key=True).values("pk")
        ApiKey.objects.filter(pk__in=free, tenant=key.tenant_id).update(last_used_at=now)


class ApiKeyAuthentication(BaseAuthentication):
    """Sets `request.auth` to the live `ApiKey`, and `request.user` to its `Boundary`."""

    def authenticate(self, request: Any) -> tuple[Boundary, ApiKey]:
        key = live_key(presented(request.headers))
        note_use(key)
        return Boundary(key.tenant, key.agent_id), key


class HasScope(BasePermission):
    """Each view names the scope of each of its methods; None lets every live key in."""

    def has_permission(self, request: Any, view: Any) -> bool:
        method = "GET" if request.method == "HEAD" else request.method
        if method == "OPTIONS" or not hasattr(view, method.lower()):
            return True  # nothing to guard: the view answers 405
        needed = view.scopes[method]
        if needed is not None and needed not in request.auth.scopes:
            raise ScopeMissing(needed=needed)
        return True


class ApiKeyScheme(OpenApiAuthenticationExtension):
    """How the OpenAPI document says all this."""

    target_class = ApiKeyAuthentication
    name = ["bearer", "header"]

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[str]]]:
        return [{"bearer": []}, {"header": []}]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "bearerFormat": "dlp_…"},
            {"type": "apiKey", "in": "header", "name": "X-Api-Key"},
        ]
