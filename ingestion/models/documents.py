"""Documents, their passages, and the words they are written in."""

from __future__ import annotations

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from ingestion.models.owned import TenantOwned
from tenants.models import in_tenant


class Kept(models.Manager["Document"]):
    """The documents that there are: without those that were removed and wait to be purged."""

    def get_queryset(self) -> models.QuerySet[Document]:
        return super().get_queryset().filter(removed_at=None)


class Document(TenantOwned):
    """One page or one file; what evidence cites as its source.

    `title` is what is shown and indexed; `given_title`, when a person has set one, outlasts what
    later versions of the file call themselves. A document that was removed with many others is
    gone for everybody from then on, and its row until it is purged (`removal.py`).
    """

    class State(models.TextChoices):
        WAITING = "waiting", "waiting for its first ingestion"
        READY = "ready", "its passages answer questions"
        ATTENTION = "attention", "needs attention: its last ingestion failed and none succeeded"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    uri = models.CharField(max_length=1000, db_collation="C")
    title = models.CharField(max_length=500, blank=True)
    given_title = models.CharField(max_length=500, blank=True)
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    enabled = models.BooleanField(default=True)
    sha256 = models.CharField(max_length=64, blank=True)
    size = models.PositiveBigIntegerField(default=0)
    media_type = models.CharField(max_length=200, blank=True)
    file = models.CharField(max_length=300, blank=True)
    language = models.CharField(max_length=8, blank=True)
    report = models.JSONField(default=dict, blank=True)
    passage_count = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)
    removed_at = models.DateTimeField(null=True, editable=False)

    objects = Kept()
    with_removed = models.Manager["Document"]()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "uri"],
                condition=Q(removed_at=None),
                name="document_uri_once",
            ),
            models.CheckConstraint(condition=~Q(uri=""), name="document_has_a_uri"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "ready", "attention"]),
                name="document_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="ready") | Q(passage_count__gt=0),
                name="document_ready_means_passages",
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "agent", "-created_at"], name="document_newest"),
            models.Index(
                fields=["removed_at"],
                condition=Q(removed_at__isnull=False),
                name="document_removed",
            ),
        ]

    def __str__(self) -> str:
        return self.title or self.uri


class Passage(TenantOwned):
    """A citable span of a document. `heading` is the path of headings above it, outermost first."""

    id = models.BigAutoField(primary_key=True)
    document = in_tenant("ingestion.Document", related_name="passages")
    position = models.PositiveIntegerField()
    heading = ArrayField(models.TextField(), default=list)
    page = models.PositiveIntegerField(null=True)
    text = models.TextField()
    tokens = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent", "document", "position"],
                name="passage_position_once",
            ),
            models.CheckConstraint(condition=~Q(text=""), name="passage_has_text"),
        ]

    def __str__(self) -> str:
        return f"{self.document_id}#{self.position}"


class Word(TenantOwned):
    """A word as a document writes it, by its folded form: how diacritics come back."""

    pk = models.CompositePrimaryKey("document", "folded", "surface", "tenant")
    document = in_tenant("ingestion.Document", related_name="+")
    folded = models.CharField(max_length=64, db_collation="C")
    surface = models.CharField(max_length=64, db_collation="C")
    count = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["agent", "folded"], name="word_by_folded_form")]
