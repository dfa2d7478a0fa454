"""Tenants, people, agents and API keys, for platform staff.

Tenants and agents are not deleted here: their files would stay behind. Deactivate the tenant.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django import forms
from django.contrib import admin, messages
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.forms import AdminUserCreationForm
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from tenants.models import Agent, ApiKey, Membership, Scope, Tenant, User

admin.site.site_header = admin.site.site_title = "Dolphy"


class NeverDeleted:
    """Mixin: no deleting, neither one nor many."""

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


class FixedTenant:
    """Mixin: the tenant is chosen once, when a row is made."""

    def get_readonly_fields(self, request: HttpRequest, obj: object = None) -> tuple[str, ...]:
        fixed = tuple(super().get_readonly_fields(request, obj))  # type: ignore[misc]
        return (*fixed, "tenant") if obj else fixed


@admin.register(User)
class PersonAdmin(UserAdmin):
    add_form = AdminUserCreationForm
    ordering = ("email",)
    list_display = ("email", "first_name", "last_name", "is_active", "is_staff", "last_login")
    search_fields = ("email", "first_name", "last_name")
    fieldsets = (
        (None, {"fields": ("email", "password")}),
        ("Person", {"fields": ("first_name", "last_name")}),
        ("May", {"fields": ("is_active", "is_staff", "is_superuser", "groups")}),
        ("Moments", {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = ((None, {"fields": ("email", "usable_password", "password1", "password2")}),)
    readonly_fields = ("last_login", "date_joined")


class MembershipInline(admin.TabularInline):
    model = Membership
    autocomplete_fields = ("user",)
    extra = 0


@admin.register(Tenant)
class TenantAdmin(NeverDeleted, admin.ModelAdmin):
    list_display = ("slug", "name", "is_active", "created_at")
    list_filter = ("is_active",)
    search_fields = ("slug", "name")
    inlines = (MembershipInline,)


@admin.register(Membership)
class MembershipAdmin(FixedTenant, admin.ModelAdmin):
    list_display = ("user", "tenant", "role", "created_at")
    list_filter = ("tenant", "role")
    list_select_related = ("user", "tenant")
    search_fields = ("user__email",)
    autocomplete_fields = ("user", "tenant")


class AgentForm(forms.ModelForm):
    class Meta:
        model = Agent
        fields = "__all__"  # noqa: DJ007  (staff may set all there is)
        help_texts: ClassVar[dict[str, str]] = {
            "slug": "The short name: commands call the agent TENANT/SLUG.",
            "language": "Of its documents. Documents that are there must be ingested again after "
            "a change.",
            "fusion": "How the branches become one order. A search may name another one.",
            "semantic_weight": "The share of meaning in the score, 0 to 1. Empty: as measured for "
            "the embedding space, else 0.8. Set both weights or none.",
            "lexical_weight": "The share of words in the score, 0 to 1. Empty: as measured for "
            "the embedding space, else 0.2.",
            "semantic_depth": "How many of the nearest passages come into the pool, 1 to 200.",
            "lexical_depth": "How many passages come into the pool by their words, 0 to 200.",
            "evidence_limit": "How many passages a search gives when it does not say, 1 to 50.",
            "document_cap": "How many passages of one document become evidence at most, while "
            "there are others.",
            "strongest_document_cap": "The same for the document of the first passage; not less.",
        }


@admin.register(Agent)
class AgentAdmin(FixedTenant, NeverDeleted, admin.ModelAdmin):
    form = AgentForm
    list_display = ("slug", "tenant", "name", "language", "fusion", "created_at")
    list_filter = ("tenant", "language", "fusion")
    list_select_related = ("tenant",)
    search_fields = ("slug", "name")
    autocomplete_fields = ("tenant",)


class ApiKeyForm(forms.ModelForm):
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices, initial=Scope.values, widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = ApiKey
        fields = ("tenant", "agent", "name", "scopes", "expires_at")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        agent, tenant = cleaned.get("agent"), cleaned.get("tenant") or self.instance.tenant_id
        if agent and agent.tenant_id != getattr(tenant, "pk", tenant):
            raise ValidationError({"agent": "This agent belongs to another tenant."})
        return cleaned


@admin.register(ApiKey)
class ApiKeyAdmin(FixedTenant, admin.ModelAdmin):
    """A key's secret is shown in a message when it is made, and never again."""

    form = ApiKeyForm
    list_display = ("prefix", "name", "tenant", "agent_slug", "scopes", "state", "last_used_at")
    list_filter = ("tenant", "revoked_at", "expires_at")
    list_select_related = ("tenant", "agent")
    search_fields = ("prefix", "name")
    autocomplete_fields = ("tenant", "agent")
    readonly_fields = ("prefix", "created_at", "revoked_at", "last_used_at")
    actions = ("revoke",)
    fields: ClassVar[Any] = ("tenant", "agent", "name", "scopes", "expires_at", *readonly_fields)

    @admin.display(description="agent", ordering="agent__slug")
    def agent_slug(self, key: ApiKey) -> str:
        return key.agent.slug if key.agent else "all"

    @admin.display
    def state(self, key: ApiKey) -> str:
        if key.is_live():
            return "live"
        return "revoked" if key.revoked_at else "expired"

    def save_model(self, request: HttpRequest, obj: ApiKey, form: Any, change: bool) -> None:
        if change:
            super().save_model(request, obj, form, change)
            return
        fields = {name: form.cleaned_data[name] for name in ("agent", "scopes", "expires_at")}
        _, secret = ApiKey.issue(obj.tenant, obj.name, id=obj.pk, **fields)
        obj.refresh_from_db()
        self.message_user(
            request, f"Copy the key now, it is not shown again: {secret}", messages.WARNING
        )

    @admin.action(description="Revoke the selected keys")
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        for key in keys:
            key.revoke()
        self.message_user(request, "The selected keys are revoked.")
