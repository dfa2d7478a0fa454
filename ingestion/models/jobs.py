"""Ingestion jobs, whose rows own their lifecycle, and whose turn it is."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db import connection, models
from django.db.models import Q
from django.utils import timezone

from ingestion.models.owned import TenantOwned
from tenants.models import in_tenant

LEASE = timedelta(minutes=2)
# Written for every job several times, so they are not composed anew each time.
_PROGRESS = """
    UPDATE ingestion_ingestionjob
    SET stage = %s, done = %s, total = %s, lease_until = %s
    WHERE id = %s AND tenant_id = %s AND state = 'running' AND lease = %s
"""
_START = """
    UPDATE ingestion_ingestionjob
    SET state = 'running', stage = 'received', lease = %(lease)s, lease_until = %(until)s,
        not_before = NULL, attempts = attempts + 1, started_at = %(now)s,
        error_code = '', error = ''
    WHERE id = %(id)s AND tenant_id = %(tenant)s
        AND (state = 'queued' OR state = 'running' AND lease_until < %(now)s)
    RETURNING
"""
_SUCCEED = """
    UPDATE ingestion_ingestionjob
    SET state = 'succeeded', stage = 'done', lease = NULL, lease_until = NULL,
        finished_at = %(now)s, faults = 0
    WHERE id = %(id)s AND tenant_id = %(tenant)s AND state = 'running' AND lease = %(lease)s
    RETURNING
"""


class IngestionJob(TenantOwned):
    """One attempt to turn the bytes of a document into passages; the row owns its lifecycle.

    queued → running → succeeded | failed | cancelled, and paused in between. A running job holds a
    lease that its worker renews; when the lease has run out the worker is dead and the job may be
    started again, up to `MAX_ATTEMPTS` times. A fault of the surroundings puts it back, not to be
    started before `not_before`; `faults` counts those in a row. The bytes are the job's until it
    succeeds, the document's afterwards; a job whose version was overtaken has no `file` any more.
    """

    MAX_ATTEMPTS = 5

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OPEN = (State.QUEUED, State.RUNNING, State.PAUSED)

    class Stage(models.TextChoices):
        RECEIVED = "received"
        PARSING = "parsing"
        SEGMENTING = "segmenting"
        ANALYSING = "analysing"
        EMBEDDING = "embedding"
        INDEXING = "indexing"
        DONE = "done"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    document = in_tenant("ingestion.Document", related_name="jobs")
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(max_length=16, choices=Stage.choices, default=Stage.RECEIVED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    attempts = models.PositiveSmallIntegerField(default=0)
    faults = models.PositiveSmallIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    lease = models.UUIDField(null=True)
    not_before = models.DateTimeField(null=True)
    name = models.CharField(max_length=300)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveBigIntegerField()
    file = models.CharField(max_length=300, blank=True)
    error_code = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    state__in=["queued", "running", "paused", "succeeded", "failed", "cancelled"]
                ),
                name="job_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(lease__isnull=False, lease_until__isnull=False),
                name="job_running_holds_a_lease",
            ),
            models.CheckConstraint(
                condition=~Q(state="failed") | ~Q(error_code=""), name="job_failed_says_why"
            ),
            models.CheckConstraint(
                condition=Q(done__lte=models.F("total")), name="job_done_within_total"
            ),
        ]
        indexes = [
            models.Index(fields=["tenant", "agent", "-created_at"], name="job_newest"),
            models.Index(fields=["document", "-created_at"], name="job_of_document"),
            models.Index(
                fields=["lease_until"],
                condition=Q(state__in=["queued", "running"]),
                name="job_unfinished",
            ),
            models.Index(
                fields=["tenant", "created_at"],
                condition=Q(state__in=["queued", "running"]),
                name="job_next_of_tenant",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.name}: {self.state}"

    @property
    def counts_pages(self) -> bool:
        """Whether `done` and `total` are pages read; in all other stages they are passages."""
        return self.stage == self.Stage.PARSING

    @property
    def is_finished(self) -> bool:
        return self.state not in self.OPEN

    @classmethod
    def free(cls, now: datetime | None = None) -> Q:
        """May be started now: queued and due, or running on a lease that has run out."""
        now = now or timezone.now()
        due = Q(not_before=None) | Q(not_before__lte=now)
        return Q(due, state=cls.State.QUEUED) | Q(state=cls.State.RUNNING, lease_until__lt=now)

    def start(self) -> bool:
        """Take the job if it is queued, or running on a lease that has run out.

        One conditional update, so of two deliveries only one starts; the other gets False.
        """
        now = timezone.now()
        return self._change(_START, {"lease": uuid.uuid4(), "now": now, "until": now + LEASE})

    def _change(self, statement: str, values: dict[str, Any]) -> bool:
        """Run a statement on the row; the object then says what the row does."""
        names = [field.attname for field in self._meta.concrete_fields]
        with connection.cursor() as cursor:
            cursor.execute(
                statement + ", ".join(names), {**values, "id": self.pk, "tenant": self.tenant_id}
            )
            found = cursor.fetchone()
        for name, value in zip(names, found or (), strict=False):
            setattr(self, name, value)
        return found is not None

    def _row(self) -> models.QuerySet[IngestionJob]:
        return type(self).objects.filter(pk=self.pk, tenant=self.tenant_id)

    def _mine(self) -> models.QuerySet[IngestionJob]:
        return self._row().filter(state=self.State.RUNNING, lease=self.lease)

    def progress(self, stage: str, done: int = 0, total: int = 0) -> bool:
        """Say how far the work is and renew the lease; False when the job is no longer ours."""
        self.stage, self.done, self.total = stage, done, total
        until = timezone.now() + LEASE
        values: list[Any] = [str(stage), done, total, until, self.pk, self.tenant_id, self.lease]
        with connection.cursor() as cursor:
            cursor.execute(_PROGRESS, values)
            return cursor.rowcount > 0

    def renew(self) -> bool:
        """Only the lease; False when the job is no longer ours."""
        return bool(self._mine().update(lease_until=timezone.now() + LEASE))

    def _finish(self, state: str, **fields: Any) -> bool:
        ended = self._mine().update(
            state=state, lease=None, lease_until=None, finished_at=timezone.now(), **fields
        )
        if ended:
            self.refresh_from_db()
        return bool(ended)

    def succeed(self) -> bool:
        return self._change(_SUCCEED, {"lease": self.lease, "now": timezone.now()})

    def fail(self, code: str, message: str) -> bool:
        return self._finish(self.State.FAILED, error_code=code, error=message)

    def release(self, code: str, message: str, *, until: datetime) -> bool:
        """Back into the queue after a fault of the surroundings, which is no attempt of its own."""
        return self._put_back(
            error_code=code, error=message, not_before=until, faults=models.F("faults") + 1
        )

    def give_way(self) -> bool:
        """Back into the queue so that another tenant is served; what is done is kept."""
        return self._put_back(faults=0)

    def hand_back(self) -> bool:
        """Back into the queue because the worker ends; what is done is kept."""
        return self._put_back()

    def _put_back(self, **fields: Any) -> bool:
        back = self._mine().update(
            state=self.State.QUEUED,
            attempts=models.F("attempts") - 1,
            lease=None,
            lease_until=None,
            **fields,
        )
        if back:
            self.refresh_from_db()
        return bool(back)

    def cancel(self) -> bool:
        """End the job unless it has ended; its worker notices at its next progress report."""
        return self._turn(self.OPEN, self.State.CANCELLED, finished_at=timezone.now())

    def pause(self) -> bool:
        """Hold an unfinished job; its worker notices at its next progress report."""
        return self._turn([self.State.QUEUED, self.State.RUNNING], self.State.PAUSED)

    def resume(self) -> bool:
        """Back into the queue; a pause is no attempt."""
        return self._turn([self.State.PAUSED], self.State.QUEUED, attempts=0, not_before=None)

    def again(self) -> bool:
        """A failed or cancelled job goes back into the queue as if it were new."""
        ended = [self.State.FAILED, self.State.CANCELLED]
        fresh = {"attempts": 0, "faults": 0, "done": 0, "total": 0, "finished_at": None}
        return self._turn(
            ended, self.State.QUEUED, error_code="", error="", not_before=None, **fresh
        )

    def _turn(self, states: Sequence[str], state: str, **fields: Any) -> bool:
        turned = (
            self._row()
            .filter(state__in=states)
            .update(state=state, lease=None, lease_until=None, **fields)
        )
        self.refresh_from_db()
        return bool(turned)


class Turn(models.Model):
    """When a tenant's jobs were last given a worker: the tenant served longest ago is next."""

    tenant = models.OneToOneField(
        "tenants.Tenant", models.CASCADE, primary_key=True, related_name="+"
    )
    served_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.tenant_id} at {self.served_at}"
