"""What a crawl keeps: a website, its pages, and the history of its syncs.

    Website ── Sync   (one at work at most)
        └───── Page ── Document (when it has content of its own)

A page is a row from the moment its address is found, so the frontier of a sync is the set of pages
with its number that still wait: whoever holds the sync's lease goes on from there. Between syncs
the row remembers what spares work: validators for a conditional request, the hash of the content,
the links (an unchanged page is not sent again) and the content itself, before repeated blocks were
dropped from it.
"""

from __future__ import annotations

import uuid
from datetime import datetime
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import connection, models
from django.db.models import F, Q
from django.utils import timezone
from psycopg.types.json import Jsonb

from ingestion.crawl.errors import SyncLost
from ingestion.models import LEASE, TenantOwned
from tenants.models import in_tenant

LONGEST_URL = 1000
MOST_PAGES = 100_000
BOUNDS: dict[str, tuple[int, int]] = {  # of a website's settings: the least and the most
    "page_limit": (1, MOST_PAGES),
    "depth_limit": (0, 1000),
    "delay": (0, 3600),
    "every_hours": (1, 8760),
}
MOST_PATTERNS = 100
_REPORT = """
    UPDATE ingestion_sync
    SET lease_until = %(until)s, heard_at = %(now)s,
        found = %(found)s, fetched = %(fetched)s, unchanged = %(unchanged)s,
        added = %(added)s, changed = %(changed)s, gone = %(gone)s,
        failed = %(failed)s, skipped = %(skipped)s, reasons = %(reasons)s,
        robots = coalesce(%(robots)s, robots)
    WHERE id = %(id)s AND tenant_id = %(tenant)s AND state = 'running' AND lease = %(lease)s
"""


class Website(TenantOwned):
    """A crawl definition that yields documents: where to start, and what belongs to it.

    `include` and `exclude` are patterns with `*`. `delay` is the least time between two requests
    to its server, in seconds. `boilerplate` lists the blocks that repeat across its pages, as
    learned from so many of them.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    url = models.CharField(max_length=LONGEST_URL, db_collation="C")
    include = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    exclude = ArrayField(models.CharField(max_length=500), default=list, blank=True)
    page_limit = models.PositiveIntegerField(default=1000)
    depth_limit = models.PositiveSmallIntegerField(default=20)
    delay = models.FloatField(default=0.25)
    every_hours = models.PositiveIntegerField(null=True, blank=True)
    next_sync_at = models.DateTimeField(null=True, blank=True)
    boilerplate = models.JSONField(default=list, blank=True)
    learned_from = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "agent", "url"], name="website_url_once"),
            models.CheckConstraint(
                condition=Q(page_limit__range=(1, MOST_PAGES), depth_limit__lte=1000)
                & Q(delay__gte=0, delay__lte=3600),
                name="website_limits_are_bounded",
            ),
            models.CheckConstraint(
                condition=Q(every_hours=None) | Q(every_hours__gt=0),
                name="website_every_some_hours",
            ),
        ]
        indexes = [
            models.Index(
                fields=["next_sync_at"],
                condition=Q(next_sync_at__isnull=False),
                name="website_next_sync",
            )
        ]

    def __str__(self) -> str:
        return self.url


class Sync(TenantOwned):
    """One walk over a website; the row owns its lifecycle, like an ingestion job's.

    queued → running → complete | partial | failed | cancelled, and paused in between. Only a
    complete one removes pages. `reasons` says why a partial one is partial. `failed` and `skipped`
    count pages by code.
    """

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        COMPLETE = "complete"
        PARTIAL = "partial"
        FAILED = "failed"
        CANCELLED = "cancelled"

    OPEN = (State.QUEUED, State.RUNNING, State.PAUSED)

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    website = in_tenant("ingestion.Website", related_name="syncs")
    number = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    found = models.PositiveIntegerField(default=0)
    fetched = models.PositiveIntegerField(default=0)
    unchanged = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    gone = models.PositiveIntegerField(default=0)
    failed = models.JSONField(default=dict)
    skipped = models.JSONField(default=dict)
    reasons = ArrayField(models.CharField(max_length=64), default=list)
    robots = models.JSONField(default=dict)
    lease = models.UUIDField(null=True)
    lease_until = models.DateTimeField(null=True)
    heard_at = models.DateTimeField(auto_now_add=True)
    not_before = models.DateTimeField(null=True)
    error_code = models.CharField(max_length=64, blank=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    COUNTS = ("found", "fetched", "unchanged", "added", "changed", "gone", "failed", "skipped")

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "website", "number"], name="sync_number_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "website"],
                condition=Q(state__in=["queued", "running", "paused"]),
                name="sync_at_work_once",
            ),
            models.CheckConstraint(
                condition=Q(
                    state__in=[
                        "queued",
                        "running",
                        "paused",
                        "complete",
                        "partial",
                        "failed",
                        "cancelled",
                    ]
                ),
                name="sync_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="running") | Q(lease__isnull=False, lease_until__isnull=False),
                name="sync_running_holds_a_lease",
            ),
            models.CheckConstraint(
                condition=~Q(state="complete") | Q(reasons=[]), name="sync_complete_has_no_reasons"
            ),
        ]
        indexes = [models.Index(fields=["tenant", "website", "-created_at"], name="sync_newest")]

    def __str__(self) -> str:
        return f"sync {self.number} of {self.website_id}: {self.state}"

    @property
    def is_finished(self) -> bool:
        return self.state not in self.OPEN

    def _row(self) -> models.QuerySet[Sync]:
        return type(self).objects.filter(pk=self.pk, tenant=self.tenant_id)

    def _mine(self) -> models.QuerySet[Sync]:
        return self._row().filter(state=self.State.RUNNING, lease=self.lease)

    def start(self) -> bool:
        """Take the sync if it is free: queued, or running on a lease that has run out."""
        now = timezone.now()
        free = Q(state=self.State.QUEUED) | Q(state=self.State.RUNNING, lease_until__lt=now)
        taken = (
            self._row()
            .filter(free)
            .update(
                state=self.State.RUNNING,
                lease=uuid.uuid4(),
                lease_until=now + LEASE,
                heard_at=now,
                started_at=self.started_at or now,
                error_code="",
                error="",
            )
        )
        if taken:
            self.refresh_from_db()
        return bool(taken)

    def report(self, *, robots: bool = False) -> None:
        """Write the counts, and what robots.txt said when that is new, and renew the lease.

        Raises `SyncLost` when the sync is not ours.
        """
        now = timezone.now()
        values: dict[str, Any] = {name: getattr(self, name) for name in self.COUNTS}
        values |= {"failed": Jsonb(self.failed), "skipped": Jsonb(self.skipped)}
        values |= {"reasons": self.reasons, "robots": Jsonb(self.robots) if robots else None}
        values |= {"id": self.pk, "tenant": self.tenant_id, "lease": self.lease}
        with connection.cursor() as cursor:  # composing it anew for each page took longer
            cursor.execute(_REPORT, {**values, "now": now, "until": now + LEASE})
            if not cursor.rowcount:
                raise SyncLost

    def release(self, *, until: datetime | None = None, code: str = "", message: str = "") -> bool:
        """Back into the queue, to go on at once or not before some moment."""
        return self._leave(
            self.State.QUEUED,
            not_before=until,
            error_code=code,
            error=message,
            heard_at=timezone.now(),
        )

    def finish(self, state: str, *, code: str = "", message: str = "") -> bool:
        return self._leave(state, finished_at=timezone.now(), error_code=code, error=message)

    def _leave(self, state: str, **fields: Any) -> bool:
        left = self._mine().update(state=state, lease=None, lease_until=None, **fields)
        if left:
            self.refresh_from_db()
        return bool(left)

    def pause(self) -> bool:
        """Hold an unfinished sync; its worker notices at its next report."""
        return self._turn([self.State.QUEUED, self.State.RUNNING], self.State.PAUSED)

    def resume(self) -> bool:
        return self._turn([self.State.PAUSED], self.State.QUEUED, not_before=None)

    def cancel(self) -> bool:
        """End the sync unless it has ended; nothing is removed."""
        return self._turn(list(self.OPEN), self.State.CANCELLED, finished_at=timezone.now())

    def _turn(self, states: list[str], state: str, **fields: Any) -> bool:
        turned = (
            self._row()
            .filter(state__in=states)
            .update(state=state, lease=None, lease_until=None, heard_at=timezone.now(), **fields)
        )
        self.refresh_from_db()
        return bool(turned)


class Page(TenantOwned):
    """One address of a website. `seen` is the number of the last sync that found it, `depth` says
    how many links from the start, `place` in which order.

    waiting → held → done: fetched pages are held until what repeats across pages is known. `code`
    says how it ended: empty with content, else why there is none. `alias_of` is the address whose
    document holds this page's content; `alone` makes the page ignore that it points elsewhere.
    `charset` and what follows it say what was found in the page and left out of its document.
    """

    class State(models.TextChoices):
        WAITING = "waiting"
        HELD = "held"
        DONE = "done"

    class Kind(models.TextChoices):
        PAGE = "page"
        SITEMAP = "sitemap"
        FILE = "file"

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    website = in_tenant("ingestion.Website", related_name="pages")
    document = in_tenant("ingestion.Document", null=True, related_name="+")
    url = models.CharField(max_length=LONGEST_URL, db_collation="C")
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.PAGE)
    seen = models.PositiveIntegerField()
    state = models.CharField(max_length=16, choices=State.choices, default=State.WAITING)
    depth = models.PositiveSmallIntegerField(default=0)
    place = models.PositiveIntegerField(default=0)
    hops = models.PositiveSmallIntegerField(default=0)
    tries = models.PositiveSmallIntegerField(default=0)
    not_before = models.DateTimeField(null=True)
    status = models.PositiveSmallIntegerField(null=True)
    code = models.CharField(max_length=64, blank=True)
    alias_of = models.CharField(max_length=LONGEST_URL, blank=True, db_collation="C")
    alone = models.BooleanField(default=False)
    etag = models.CharField(max_length=500, blank=True)
    last_modified = models.CharField(max_length=100, blank=True)
    content_hash = models.CharField(max_length=64, blank=True, db_collation="C")
    content = models.BinaryField(default=bytes)
    blocks = ArrayField(models.BigIntegerField(), default=list)
    dropped = ArrayField(models.BigIntegerField(), default=list)
    links = ArrayField(models.TextField(), default=list)
    charset = models.CharField(max_length=40, blank=True)
    boilerplate_removed = models.PositiveIntegerField(default=0)
    repeated_blocks = models.PositiveIntegerField(default=0)
    repeated_characters = models.PositiveIntegerField(default=0)
    fetched_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "website", "url"], name="page_url_once"),
            models.CheckConstraint(
                condition=Q(state__in=["waiting", "held", "done"])
                & Q(kind__in=["page", "sitemap", "file"]),
                name="page_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(alias_of=F("url")), name="page_is_no_alias_of_itself"
            ),
        ]
        indexes = [
            models.Index(
                fields=["tenant", "website", "seen", "state", "depth", "place"],
                name="page_frontier",
            ),
            models.Index(
                fields=["tenant", "website", "content_hash"],
                condition=~Q(content_hash=""),
                name="page_of_content",
            ),
            models.Index(fields=["document"], name="page_of_document"),
        ]

    def __str__(self) -> str:
        return self.url
