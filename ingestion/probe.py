"""The self-cosine probe: does what embeds today still make the vectors that are stored?

A model can be swapped behind the same name and width, and then every search answers with noise and
no error. So passages are taken out of the index, what was embedded for them is embedded again, and
the two vectors are compared: in one space the cosine is 1 but for rounding (above 0.999), between
two models it is near 0. An index is not trusted when the median is under the threshold, or more
than one compared passage in eight is (it was filled by two models). What could not be compared
leaves the verdict as it was.

An agent is probed over `PER_AGENT` passages; a space over `PER_SPACE`, spread over its agents, each
agent with a suspicious passage then by itself.
"""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db import connection
from django.db.models import Q, QuerySet
from django.utils import timezone

from dolphy import embedding
from dolphy.embedding.remembered import forget_questions
from dolphy.errors import DolphyError
from ingestion.embed import text_key
from ingestion.indexes import space_of
from ingestion.models import EmbeddingSpace, Index, IndexProbe, SpaceProbe
from ingestion.rebuilt import rebuilt

PER_AGENT, PER_SPACE = 8, 32
ONE_IN = 8
KEPT = timedelta(days=90)
_SAMPLES = (Path(__file__).parent / "probe.sql").read_text()


@dataclass(frozen=True, slots=True)
class Sample:
    """A stored passage: the key of what was embedded, its vector, and what it is rebuilt from."""

    key: UUID
    vector: embedding.Vectors
    title: str
    heading: Sequence[str]
    text: str


@dataclass(frozen=True, slots=True)
class Measured:
    """Cosines of the compared passages; how many had changed; why nothing could be measured."""

    cosines: tuple[float, ...] = ()
    changed: int = 0
    error_code: str = ""

    @property
    def below(self) -> int:
        return sum(cosine < settings.PROBE_THRESHOLD for cosine in self.cosines)

    @property
    def trusted(self) -> bool | None:
        """The verdict; None when nothing was compared."""
        if not self.cosines:
            return None
        too_many = self.below * ONE_IN > len(self.cosines)
        return statistics.median(self.cosines) >= settings.PROBE_THRESHOLD and not too_many

    def columns(self) -> dict[str, Any]:
        return {
            "compared": len(self.cosines),
            "changed": self.changed,
            "below": self.below,
            "median": statistics.median(self.cosines) if self.cosines else None,
            "lowest": min(self.cosines, default=None),
            "error_code": self.error_code,
        }


def probe_index(index: Index, passages: int = PER_AGENT) -> IndexProbe:
    """Probe one agent's index, keep the figures, and let its verdict decide about searches."""
    measured = measure(space_of(index), samples(index, passages))
    probe = IndexProbe.objects.create(
        tenant_id=index.tenant_id,
        agent_id=index.agent_id,
        index=index,
        analysers=analysers(index),
        **measured.columns(),
    )
    if measured.trusted is not None:
        _judge(index, measured.trusted)
    return probe


def probe_space(space: EmbeddingSpace, passages: int = PER_SPACE) -> SpaceProbe:
    """Probe a space over its serving agents, and each agent that looks wrong by itself."""
    indexes = spread(list(serving(space).values_list("pk", flat=True)), passages)
    each = max(1, min(PER_AGENT, passages // max(1, len(indexes))))
    found: list[Measured] = []
    for index in serving(space).filter(pk__in=indexes):
        measured = measure(space_of(index), samples(index, each))
        found.append(measured)
        if measured.below:
            probe_index(index)
    whole = pooled(found)
    if whole.trusted is False:
        for index in serving(space).exclude(pk__in=indexes):
            probe_index(index)
    return SpaceProbe.objects.create(space=space, **whole.columns())


def probe_spaces() -> list[SpaceProbe]:
    """Probe every space that serves an agent."""
    spaces = EmbeddingSpace.objects.filter(indexes__state=Index.State.SERVING).distinct()
    return [probe_space(space) for space in spaces.order_by("pk")]


def forget_old_probes() -> None:
    """Figures are kept for `KEPT`; the last ones of an index leave with the index."""
    before = timezone.now() - KEPT
    IndexProbe.objects.filter(measured_at__lt=before).delete()
    SpaceProbe.objects.filter(measured_at__lt=before).delete()


def doubtful() -> QuerySet[Index]:
    """Serving indexes with passages that are not trusted, or were never probed."""
    return serving().filter(Q(trusted=False) | Q(probes__isnull=True), passages__gt=0)


def serving(space: EmbeddingSpace | None = None) -> QuerySet[Index]:
    indexes = Index.objects.select_related("space").filter(state=Index.State.SERVING)
    return (indexes.filter(space=space) if space else indexes).order_by("pk")


def measure(space: embedding.Space, taken: Sequence[Sample]) -> Measured:
    """Embed what was embedded for these passages, and compare. Never raises for the embedder."""
    try:
        embedder = embedding.of(space)
        texts = [rebuilt(one.title, one.heading, one.text, embedder) for one in taken]
        pairs = [
            (one, text) for one, text in zip(taken, texts, strict=True) if text_key(text) == one.key
        ]
        now = embedder.embed_passages([text for _, text in pairs]) if pairs else ()
    except DolphyError as error:
        return Measured(error_code=error.code)
    cosines = [_cosine(one.vector, vector) for (one, _), vector in zip(pairs, now, strict=True)]
    return Measured(tuple(cosines), changed=len(taken) - len(pairs))


def pooled(parts: Iterable[Measured]) -> Measured:
    """Several measurements of one space as one."""
    parts = list(parts)
    return Measured(
        tuple(cosine for part in parts for cosine in part.cosines),
        sum(part.changed for part in parts),
        next((part.error_code for part in parts if part.error_code), ""),
    )


def samples(index: Index, wanted: int) -> list[Sample]:
    """At most `wanted` passages of the index, evenly spread over it."""
    values: dict[str, Any] = {"tenant": index.tenant_id, "agent": index.agent_id}
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLES, values | {"index": index.pk, "wanted": wanted})
        return [
            Sample(key, np.array(vector[1:-1].split(","), np.float32), title, heading, text)
            for key, vector, title, heading, text in cursor
        ]


def analysers(index: Index) -> dict[str, int]:
    """Passages of the index by the analyser version that wrote them, disabled ones included."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT analyser, count(*) FROM ingestion_indexedpassage "
            "WHERE index_id = %s AND tenant_id = %s GROUP BY analyser ORDER BY analyser",
            [index.pk, index.tenant_id],
        )
        return Counter({str(version): count for version, count in cursor})


def spread(keys: Sequence[int], wanted: int) -> list[int]:
    """At most `wanted` of the keys, evenly spread, the last one among them."""
    if len(keys) <= wanted:
        return list(keys)
    return [keys[-1 - step * (len(keys) - 1) // max(1, wanted - 1)] for step in range(wanted)]


def _judge(index: Index, trusted: bool) -> None:
    """Write the verdict where searches read it, and drop the question vectors of either model."""
    changed = Index.objects.filter(pk=index.pk, tenant=index.tenant_id, trusted=not trusted).update(
        trusted=trusted
    )
    index.trusted = trusted
    if changed:
        forget_questions(space_of(index))


def _cosine(one: embedding.Vectors, other: embedding.Vectors) -> float:
    """At most 1, which rounding would exceed."""
    scale = float(np.linalg.norm(one) * np.linalg.norm(other))
    return min(1.0, float(one @ other) / scale) if scale else 0.0
