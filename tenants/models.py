"""Who is asking, and for whom.

A tenant is one business and the isolation boundary. It has members (people who sign in), agents
(assistants, each with its own documents and settings) and API keys (programs). PostgreSQL holds the
boundary: in every tenant-owned table the tenant is part of the primary key and of every unique
constraint, and foreign keys carry it along, so a row of one tenant cannot point at another's
(migration 0002 and its siblings; the Django fields leave the constraint to them).
"""

from __future__ import annotations

import hashlib
import secrets
import uuid
from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, UserManager
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

from tenants.languages import UNKNOWN, Language


def in_tenant(to: str, **options: Any) -> Any:
    """A foreign key whose constraint, tenant included, is written in the migrations.

    It cascades in PostgreSQL; its index, where one is needed, is part of a wider one.
    """
    return models.ForeignKey(
        to, on_delete=models.DO_NOTHING, db_constraint=False, db_index=False, **options
    )


class EmailUserManager(UserManager["User"]):
    """Makes users who are known by their e-mail address."""

    def _create_user(self, email: str, password: str | None, **fields: Any) -> User:
        user = self.model(email=self.normalize_email(email).lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:  # type: ignore[override]
        return self._create_user(email, password, **fields)

    def create_superuser(self, email: str, password: str | None = None, **fields: Any) -> User:  # type: ignore[override]
        return self._create_user(email, password, is_staff=True, is_superuser=True, **fields)


class User(AbstractUser):
    """A person, signing in by e-mail."""

    username = None  # type: ignore[assignment]
    email = models.EmailField(unique=True)
    USERNAME_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []
    objects = EmailUserManager()  # type: ignore[misc]

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(email=Lower("email")), name="user_email_is_lower_case"
            )
        ]


class Tenant(models.Model):
    """One business: nothing of it is visible to another.

    The quotas bound what it may keep; where one is null, the installation's own bound holds
    (QUOTA_DOCUMENTS and its siblings), and 0 there is no bound.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    slug = models.SlugField(max_length=63, unique=True)
    name = models.CharField(max_length=200)
    is_active = models.BooleanField(default=True)
    max_documents = models.PositiveBigIntegerField(null=True, blank=True)
    max_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    max_passages = models.PositiveBigIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.slug


class Membership(models.Model):
    """A person's place in a tenant."""

    class Role(models.TextChoices):
        ADMIN = "admin"
        VIEWER = "viewer"

    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.ADMIN)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "user"], name="membership_once"),
            models.CheckConstraint(
                condition=Q(role__in=["admin", "viewer"]), name="membership_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.tenant}"


class Fusion(models.TextChoices):
    """The ways to make one order of the branches, by name."""

    CALIBRATED = "calibrated"
    RRF = "rrf"
    SEMANTIC = "semantic"
    LEXICAL = "lexical"


def between(low: float, high: float) -> list[Any]:
    return [MinValueValidator(low), MaxValueValidator(high)]


class Agent(models.Model):
    """One assistant of a tenant, with its own documents and settings.

    Weights left empty are those measured for the embedding space, else 0.8 and 0.2. Depths are
    candidates that a branch may bring into the pool. The caps bound how many passages of one
    document become evidence, the strongest document (that of the first passage) having its own.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="agents")
    slug = models.SlugField(max_length=63)
    name = models.CharField(max_length=200)
    language = models.CharField(
        max_length=8,
        choices=Language.choices,
        default=Language.TURKISH,
        error_messages={"invalid_choice": UNKNOWN},
    )
    fusion = models.CharField(max_length=16, choices=Fusion.choices, default=Fusion.CALIBRATED)
    semantic_weight = models.FloatField(null=True, blank=True, validators=between(0, 1))
    lexical_weight = models.FloatField(null=True, blank=True, validators=between(0, 1))
    semantic_depth = models.PositiveSmallIntegerField(default=40, validators=between(1, 200))
    lexical_depth = models.PositiveSmallIntegerField(default=40, validators=between(0, 200))
    evidence_limit = models.PositiveSmallIntegerField(default=8, validators=between(1, 50))
    document_cap = models.PositiveSmallIntegerField(default=2, validators=between(1, 50))
    strongest_document_cap = models.PositiveSmallIntegerField(default=4, validators=between(1, 50))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "slug"], name="agent_slug_once"),
            models.CheckConstraint(
                condition=Q(language__in=Language.values), name="agent_language_is_known"
            ),
            models.CheckConstraint(
                condition=Q(fusion__in=Fusion.values), name="agent_fusion_is_known"
            ),
            models.CheckConstraint(
                condition=Q(semantic_weight__gte=0, semantic_weight__lte=1)
                & Q(lexical_weight__gte=0, lexical_weight__lte=1)
                & (Q(semantic_weight__gt=0) | Q(lexical_weight__gt=0)),
                name="agent_weights_are_usable",
            ),
            models.CheckConstraint(
                condition=Q(semantic_weight__isnull=True, lexical_weight__isnull=True)
                | Q(semantic_weight__isnull=False, lexical_weight__isnull=False),
                name="agent_weights_come_together",
            ),
            models.CheckConstraint(
                condition=Q(semantic_depth__range=(1, 200), lexical_depth__range=(0, 200)),
                name="agent_depths_are_bounded",
            ),
            models.CheckConstraint(
                condition=Q(
                    evidence_limit__range=(1, 50),
                    document_cap__range=(1, 50),
                    strongest_document_cap__range=(models.F("document_cap"), 50),
                ),
                name="agent_caps_are_bounded",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tenant}/{self.slug}"


class Scope(models.TextChoices):
    """What an API key may do."""

    SEARCH = "search"
    READ = "documents:read"
    WRITE = "documents:write"


def all_scopes() -> list[str]:
    return list(Scope.values)


class ApiKey(models.Model):
    """A program's way in. Only the hash of the secret is kept; the prefix tells keys apart.

    The secret is 256 random bits, so a plain SHA-256 cannot be guessed back.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    tenant = models.ForeignKey(Tenant, models.CASCADE, related_name="api_keys")
    agent = in_tenant("tenants.Agent", null=True, blank=True, related_name="api_keys")
    name = models.CharField(max_length=200)
    prefix = models.CharField(max_length=16, editable=False)
    hash = models.CharField(max_length=64, editable=False)
    scopes = ArrayField(models.CharField(max_length=32), default=all_scopes)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.UniqueConstraint(fields=["tenant", "hash"], name="api_key_hash_once"),
            models.CheckConstraint(
                condition=Q(scopes__contained_by=Scope.values) & Q(scopes__len__gt=0),
                name="api_key_scopes_are_known",
            ),
        ]
        indexes = [models.Index(fields=["hash"], name="api_key_hash")]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.name})"

    @classmethod
    def issue(cls, tenant: Tenant, name: str, **fields: Any) -> tuple[ApiKey, str]:
        """A new key and its secret, which is shown once and cannot be had again."""
        secret = f"dlp_{secrets.token_urlsafe(32)}"
        key = cls.objects.create(
            tenant=tenant, name=name, prefix=secret[:12], hash=cls.digest(secret), **fields
        )
        return key, secret

    @staticmethod
    def digest(secret: str) -> str:
        return hashlib.sha256(secret.encode()).hexdigest()

    def is_live(self, now: datetime | None = None) -> bool:
        now = now or timezone.now()
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > now)

    def revoke(self) -> None:
        type(self).objects.filter(pk=self.pk, revoked_at=None).update(revoked_at=timezone.now())
        self.refresh_from_db()
