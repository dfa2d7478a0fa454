"""What ingestion keeps: documents, their passages, and how those are indexed.

    Document ── Passage ── IndexedPassage ── Index ── EmbeddingSpace
        └── IngestionJob      (narrow table)   (one serving per agent)

A passage is text with a place; it belongs to no model. An `Index` is one way to find an agent's
passages: one embedding space, one row of vector and lexemes per passage. Exactly one index of an
agent serves; another may be built beside it and take over in one step, so vectors of two spaces
never meet in one search. `IndexedPassage` is all that retrieval scans: text stays elsewhere.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.search import SearchVectorField
from django.db import connection, models
from django.db.models import Q
from django.utils import timezone
from pgvector.django import HalfVectorField

from tenants.models import Agent, in_tenant

LEASE = timedelta(minutes=2)


class TenantOwned(models.Model):
    """Belongs to one agent of one tenant; the pair is a composite foreign key in PostgreSQL."""

    tenant = in_tenant("tenants.Tenant", related_name="+")
    agent = in_tenant("tenants.Agent", related_name="+")

    class Meta:
        abstract = True


class EmbeddingSpace(models.Model):
    """Provider, model, dimensions and revision: vectors of two spaces are never compared."""

    id = models.SmallAutoField(primary_key=True)
    provider = models.CharField(max_length=200)
    model = models.CharField(max_length=200)
    dimensions = models.PositiveSmallIntegerField()
    revision = models.CharField(max_length=64, default="", blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["provider", "model", "dimensions", "revision"], name="space_once"
            ),
            models.CheckConstraint(
                condition=Q(dimensions__range=(1, 4000)), name="space_fits_halfvec_index"
            ),
        ]

    def __str__(self) -> str:
        name = f"{self.provider}/{self.model}/{self.dimensions}"
        return f"{name}@{self.revision}" if self.revision else name


class Index(TenantOwned):
    """How an agent's passages are found: one space; an exact scan, or an HNSW graph of its own.

    `trusted` is the last probe's verdict (see probe.py), `probe_ignored` the operator's word that
    it does not count. An index that is built beside another says whether vectors may be copied
    from that one or are all embedded anew.
    """

    class State(models.TextChoices):
        BUILDING = "building"
        SERVING = "serving"
        RETIRED = "retired"

    id = models.AutoField(primary_key=True)
    space = models.ForeignKey(EmbeddingSpace, models.PROTECT, related_name="indexes")
    state = models.CharField(max_length=16, choices=State.choices, default=State.BUILDING)
    has_graph = models.BooleanField(default=False)
    passages = models.PositiveIntegerField(default=0)
    passages_at_statistics = models.PositiveIntegerField(default=0)
    trusted = models.BooleanField(default=True)
    probe_ignored = models.BooleanField(default=False)
    copies_vectors = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    retired_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["tenant", "agent"], condition=Q(state="serving"), name="index_serving_once"
            ),
            models.UniqueConstraint(
                fields=["tenant", "agent"],
                condition=Q(state="building"),
                name="index_building_once",
            ),
            models.CheckConstraint(
                condition=Q(state__in=["building", "serving", "retired"]),
                name="index_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state="retired") | Q(retired_at__isnull=False),
                name="index_retired_says_when",
            ),
        ]

    def __str__(self) -> str:
        return f"index {self.pk} ({self.state})"


class Figures(models.Model):
    """What a self-cosine probe measured: stored vectors against the same texts embedded now.

    `compared` passages had their text unchanged; `changed` ones did not and tell nothing; `below`
    counts those under the threshold. A probe that could not measure says why in `error_code`.
    """

    measured_at = models.DateTimeField(default=timezone.now)
    compared = models.PositiveIntegerField(default=0)
    changed = models.PositiveIntegerField(default=0)
    below = models.PositiveIntegerField(default=0)
    median = models.FloatField(null=True)
    lowest = models.FloatField(null=True)
    error_code = models.CharField(max_length=64, blank=True)

    class Meta:
        abstract = True
        get_latest_by = "measured_at"


class IndexProbe(TenantOwned, Figures):
    """One probe of one agent's index; `analysers` counts its passages by analyser version."""

    id = models.BigAutoField(primary_key=True)
    index = in_tenant("ingestion.Index", related_name="probes")
    analysers = models.JSONField(default=dict)

    class Meta(Figures.Meta):
        indexes = [models.Index(fields=["index", "-measured_at"], name="index_probe_newest")]

    def __str__(self) -> str:
        return f"index {self.index_id}: {self.median}"


class SpaceProbe(Figures):
    """One probe of an embedding space, over passages spread across its agents."""

    id = models.BigAutoField(primary_key=True)
    space = models.ForeignKey(EmbeddingSpace, models.CASCADE, related_name="probes")

    class Meta(Figures.Meta):
        indexes = [models.Index(fields=["space", "-measured_at"], name="space_probe_newest")]

    def __str__(self) -> str:
        return f"{self.space}: {self.median}"


class Document(TenantOwned):
    """One page or one file; what evidence cites as its source.

    `title` is what is shown and indexed; `given_title`, when a person has set one, outlasts what
    later versions of the file call themselves.
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

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["tenant", "agent", "uri"], name="document_uri_once"),
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
        indexes = [models.Index(fields=["tenant", "agent", "-created_at"], name="document_newest")]

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


class IndexedPassage(TenantOwned):
    """The narrow row that retrieval reads: the vector, the lexemes, and what breaks ties.

    `vector` has no width, so all spaces fit; each index casts to the width of its space.
    Lexemes carry the key of their index (`12:iade`), so that the shared GIN index holds posting
    lists that never leave the boundary. `same_text` is equal for exact duplicates; `text_key` for
    passages whose embedded text is equal, so that it is embedded once.
    """

    pk = models.CompositePrimaryKey("index", "passage", "tenant")
    index = in_tenant("ingestion.Index", related_name="+")
    passage = in_tenant("ingestion.Passage", related_name="+")
    document = in_tenant("ingestion.Document", related_name="+")
    enabled = models.BooleanField()
    uri = models.CharField(max_length=1000, db_collation="C")
    position = models.PositiveIntegerField()
    same_text = models.UUIDField()
    text_key = models.UUIDField()
    analyser = models.PositiveSmallIntegerField()
    vector = HalfVectorField()
    stemmed = SearchVectorField()
    plain = SearchVectorField()

    class Meta:
        indexes = [models.Index(fields=["index", "text_key"], name="indexed_passage_text")]


class CommonLexeme(models.Model):
    """How many passages of a large index hold a lexeme; rare ones have no row (see statistics)."""

    pk = models.CompositePrimaryKey("index", "lexeme", "tenant")
    tenant = in_tenant("tenants.Tenant", related_name="+")
    index = in_tenant("ingestion.Index", related_name="+")
    lexeme = models.TextField(db_collation="C")
    passages = models.PositiveIntegerField()


class Word(TenantOwned):
    """A word as a document writes it, by its folded form: how diacritics come back."""

    pk = models.CompositePrimaryKey("document", "folded", "surface", "tenant")
    document = in_tenant("ingestion.Document", related_name="+")
    folded = models.CharField(max_length=64, db_collation="C")
    surface = models.CharField(max_length=64, db_collation="C")
    count = models.PositiveIntegerField()

    class Meta:
        indexes = [models.Index(fields=["agent", "folded"], name="word_by_folded_form")]


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
        now, lease = timezone.now(), uuid.uuid4()
        free = Q(state=self.State.QUEUED) | Q(state=self.State.RUNNING, lease_until__lt=now)
        taken = (
            self._row()
            .filter(free)
            .update(
                state=self.State.RUNNING,
                stage=self.Stage.RECEIVED,
                lease=lease,
                lease_until=now + LEASE,
                not_before=None,
                attempts=models.F("attempts") + 1,
                started_at=now,
                error_code="",
                error="",
            )
        )
        if taken:
            self.refresh_from_db()
        return bool(taken)

    def _row(self) -> models.QuerySet[IngestionJob]:
        return type(self).objects.filter(pk=self.pk, tenant=self.tenant_id)

    def _mine(self) -> models.QuerySet[IngestionJob]:
        return self._row().filter(state=self.State.RUNNING, lease=self.lease)

    def progress(self, stage: str, done: int = 0, total: int = 0) -> bool:
        """Say how far the work is and renew the lease; False when the job is no longer ours."""
        self.stage, self.done, self.total = stage, done, total
        return bool(
            self._mine().update(
                stage=stage, done=done, total=total, lease_until=timezone.now() + LEASE
            )
        )

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
        return self._finish(self.State.SUCCEEDED, stage=self.Stage.DONE, faults=0)

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


class EmbeddingUse(models.Model):
    """What a tenant's embeddings cost on one day (UTC): requests, texts and tokens."""

    pk = models.CompositePrimaryKey("tenant", "space", "day")
    tenant = models.ForeignKey("tenants.Tenant", models.CASCADE, related_name="+", db_index=False)
    space = models.ForeignKey(EmbeddingSpace, models.PROTECT, related_name="+", db_index=False)
    day = models.DateField()
    requests = models.PositiveIntegerField(default=0)
    texts = models.PositiveBigIntegerField(default=0)
    tokens = models.PositiveBigIntegerField(default=0)

    def __str__(self) -> str:
        return f"{self.tenant_id} {self.space} {self.day}: {self.tokens} tokens"


def serving_index(agent: Agent) -> Index | None:
    """The index that answers this agent's questions, with its space; None before any ingestion.

    Every search begins here, so the query is written once: composing it anew took longer than the
    search's own statement.
    """
    with connection.cursor() as cursor:
        cursor.execute(_serving_index_sql(), [agent.tenant_id, agent.pk])
        row = cursor.fetchone()
    if row is None:
        return None
    index = Index.from_db(connection.alias, _columns(Index), row[: len(_columns(Index))])
    index.space = EmbeddingSpace.from_db(
        connection.alias, _columns(EmbeddingSpace), row[len(_columns(Index)) :]
    )
    return index


@lru_cache
def _columns(model: type[models.Model]) -> list[str]:
    return [field.attname for field in model._meta.concrete_fields]


@lru_cache
def _serving_index_sql() -> str:
    chosen = [f"agents_index.{name}" for name in _columns(Index)]
    chosen += [f"space.{name}" for name in _columns(EmbeddingSpace)]
    return (
        f"SELECT {', '.join(chosen)} FROM ingestion_index AS agents_index "  # noqa: S608 (the models' own columns)
        "JOIN ingestion_embeddingspace AS space ON space.id = agents_index.space_id "
        "WHERE tenant_id = %s AND agent_id = %s AND state = 'serving'"
    )


import ingestion.crawl.models  # noqa: E402,F401  (Django finds models here; it needs the above)
