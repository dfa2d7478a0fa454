"""What retrieval keeps: the trace of every search."""

from __future__ import annotations

import uuid

from django.db import models

from ingestion.models import TenantOwned


class Trace(TenantOwned):
    """The record of one retrieval, complete enough to explain and replay it."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    question = models.TextField()
    record = models.JSONField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = [models.Index(fields=["tenant", "agent", "-created_at"], name="trace_newest")]

    def __str__(self) -> str:
        return f"{self.created_at:%F %T} {self.question[:60]}"
