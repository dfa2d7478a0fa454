"""Embedding spaces, the indexes built in them, and what probes measured of both."""

from __future__ import annotations

from functools import lru_cache

from django.contrib.postgres.search import SearchVectorField
from django.db import connection, models
from django.db.models import Q
from django.utils import timezone
from pgvector.django import HalfVectorField

from ingestion.models.owned import TenantOwned
from tenants.models import Agent, in_tenant


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
        verbose_name_plural = "indexes"
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
        indexes = [
            models.Index(fields=["index", "text_key"], name="indexed_passage_text"),
            models.Index(
                fields=["index", "same_text", "document"], name="indexed_passage_same_text"
            ),
        ]


class CommonLexeme(models.Model):
    """How many passages of a large index hold a lexeme; rare ones have no row (see statistics)."""

    pk = models.CompositePrimaryKey("index", "lexeme", "tenant")
    tenant = in_tenant("tenants.Tenant", related_name="+")
    index = in_tenant("ingestion.Index", related_name="+")
    lexeme = models.TextField(db_collation="C")
    passages = models.PositiveIntegerField()


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
