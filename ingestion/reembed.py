"""Re-embed: an agent's passages get a new index beside the old one, which then takes its place.

    begin or resume → fill → count, graph, statistics → fill what changed → probe → switch → remove

What is missing is asked of the database, batch by batch: passages that the serving index holds and
the new one does not. So a run that was stopped goes on where it was, and documents that are added,
replaced or deleted meanwhile need no bookkeeping: ingestion goes on with the serving index, new
passages are missing, and deleted ones leave both by cascade. Every write is made while the agent's
indexes are locked, as a swap does; the switch is made under the same lock, when nothing is missing.

A search reads the serving index once, and embeds its question in that index's space, so no search
mixes two. The old index is removed `GRACE` after the switch, when no search can be reading it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from dolphy import embedding
from dolphy.embedding import Embedder
from dolphy.embedding.meter import metered
from dolphy.embedding.remembered import forget_questions
from dolphy.errors import DolphyError
from ingestion import graph
from ingestion.account import charge
from ingestion.analyse import ANALYSER_VERSION, analyse_passage, normalise
from ingestion.embed import text_key, vectors_in
from ingestion.indexes import space_of, space_row
from ingestion.models import Document, Index, IndexedPassage, serving_index
from ingestion.probe import probe_index
from ingestion.rebuilt import rebuilt
from ingestion.swap import index_rows
from tenants.models import Agent

GRACE = timedelta(minutes=5)
REMOVED_AT_ONCE = 5_000
COPIED_AT_ONCE = 256
_MISSING = (Path(__file__).parent / "missing.sql").read_text()

Progress = Callable[[int, int], None]
State = Index.State


class NothingToReembed(DolphyError):
    """The agent's passages are in that space already, written by the running analyser."""

    code = "nothing_to_reembed"
    status = 409


class NoPassages(DolphyError):
    """The agent has never ingested anything; its first document chooses the configured space."""

    code = "no_passages"
    status = 409


class ReembedRunning(DolphyError):
    """This agent is being re-embedded already."""

    code = "reembed_running"
    status = 409


class NewIndexMismatch(DolphyError):
    """The embedder answers differently now than it did for the passages embedded before."""

    code = "new_index_mismatch"
    status = 503


@dataclass(slots=True)
class Outcome:
    """What a run did; `resumed` passages were there before it, `too_long` lose their end to the
    embedder's limit until their documents are ingested again."""

    index: Index
    resumed: int = 0
    embedded: int = 0
    copied: int = 0
    too_long: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Missing:
    passage: int
    document: UUID
    position: int
    title: str
    heading: list[str]
    text: str


def reembed(
    agent: Agent,
    embedder: Embedder | None = None,
    *,
    again: bool = False,
    restart: bool = False,
    progress: Progress = lambda done, total: None,
) -> Outcome:
    """Build the agent's index in the embedder's space (the configured one) and let it serve.

    `again` embeds anew what is there in the same space; `restart` throws away what a stopped run
    built. Raises the errors above and what the embedder raises; then the old index serves on, and
    another call resumes.
    """
    with _alone(agent):
        work = _Work(agent, embedder or embedding.configured(), progress)
        work.begin(again=again, restart=restart)
        work.fill()
        work.prepare()
        work.fill()
        work.probe()
        while not work.switch():
            work.fill()
    return work.outcome


def wanted(agent: Agent, embedder: Embedder, *, again: bool = False) -> bool:
    """Whether the serving index is in another space, doubted, or of an older analyser."""
    index = serving_index(agent)
    if index is None:
        raise NoPassages
    stale = _rows(index).exclude(analyser=ANALYSER_VERSION).exists()
    return again or space_of(index) != embedder.space or not index.trusted or stale


class _Work:
    def __init__(self, agent: Agent, embedder: Embedder, progress: Progress) -> None:
        self.agent, self.embedder, self.progress = agent, embedder, progress

    def begin(self, *, again: bool, restart: bool) -> None:
        """Take up the index that a stopped run left, if it is of use, or start a new one."""
        building = _of(self.agent, State.BUILDING).first()
        unfit = building is not None and space_of(building) != self.embedder.space
        if building is not None and (restart or unfit):
            remove(building)
            building = None
        if building is None:
            if not wanted(self.agent, self.embedder, again=again):
                raise NothingToReembed
            building = self._new(again)
        else:
            _rows(building).exclude(analyser=ANALYSER_VERSION).delete()
        self.index = building
        self.outcome = Outcome(building, resumed=_rows(building).count())

    def _new(self, again: bool) -> Index:
        old = self._serving()
        same = space_of(old) == self.embedder.space and old.trusted and not again
        return Index.objects.create(
            tenant_id=self.agent.tenant_id,
            agent=self.agent,
            space=space_row(self.embedder.space),
            state=State.BUILDING,
            copies_vectors=same,
        )

    def _serving(self) -> Index:
        index = serving_index(self.agent)
        if index is None:
            raise NoPassages
        return index

    def fill(self) -> None:
        """Write what is missing, batch by batch, each in a transaction of its own."""
        done, total = _rows(self.index).count(), _rows(self._serving()).count()
        self.progress(done, total)
        after = 0
        while batch := self._missing(after):
            written = self._write(batch)
            after, done = batch[-1].passage, done + written
            self.progress(done, max(done, total))

    def _missing(self, after: int) -> list[_Missing]:
        values: dict[str, Any] = {
            "tenant": self.agent.tenant_id,
            "agent": self.agent.pk,
            "index": self.index.pk,
            "serving": self._serving().pk,
            "after": after,
            "wanted": COPIED_AT_ONCE if self.index.copies_vectors else self.embedder.batch,
        }
        with connection.cursor() as cursor:
            cursor.execute(_MISSING, values)
            return [_Missing(*row) for row in cursor]

    def _write(self, batch: Sequence[_Missing]) -> int:
        texts = [rebuilt(one.title, one.heading, one.text, self.embedder) for one in batch]
        vectors = self._vectors(batch, texts)
        language = self.agent.language
        rows: dict[UUID, list[tuple[Any, ...]]] = {}
        for one, text in zip(batch, texts, strict=True):
            same = text_key(normalise(one.text))
            lexemes = analyse_passage(text, language)
            row = (one.passage, one.position, text, same, lexemes, vectors[text_key(text)])
            rows.setdefault(one.document, []).append(row)
        return self._store(rows)

    def _vectors(
        self, batch: Sequence[_Missing], texts: Sequence[str]
    ) -> dict[UUID, embedding.Vectors]:
        """Of texts that the new index holds already; from the old one, if that may be; or new."""
        distinct = {text_key(text): text for text in texts}
        known = vectors_in(self.index, list(distinct))
        if self.index.copies_vectors:
            copied = vectors_in(self._serving(), [key for key in distinct if key not in known])
            self.outcome.copied += len(copied)
            known |= copied
        missing = [key for key in distinct if key not in known]
        if missing:
            self._note_too_long(batch, texts)
            fresh = self._embed([distinct[key] for key in missing])
            known |= dict(zip(missing, fresh, strict=True))
            self.outcome.embedded += len(missing)
        return known

    def _embed(self, texts: Sequence[str]) -> embedding.Vectors:
        """Embed on the tenant's account, whatever comes of it."""
        with metered() as use:
            try:
                return self.embedder.embed_passages(texts)
            finally:
                charge(self.agent.tenant_id, self.index.space_id, use, texts=len(texts))

    def _note_too_long(self, batch: Sequence[_Missing], texts: Sequence[str]) -> None:
        for one, text in zip(batch, texts, strict=True):
            if self.embedder.count_tokens(text) > self.embedder.max_tokens:
                self.outcome.too_long.append(f"{one.title}, passage {one.position + 1}")

    def _store(self, rows: dict[UUID, list[tuple[Any, ...]]]) -> int:
        """Write the rows whose passages are still there, under the document as it is now."""
        with transaction.atomic():
            old = self._lock()
            alive = set(
                _rows(old)
                .filter(passage__in=[row[0] for of_one in rows.values() for row in of_one])
                .values_list("passage_id", flat=True)
            )
            documents = Document.objects.filter(
                tenant=self.agent.tenant_id, agent=self.agent.pk
            ).in_bulk(rows)
            for key, document in documents.items():
                index_rows(document, self.index, [row for row in rows[key] if row[0] in alive])
        return len(alive)

    def _lock(self) -> Index:
        """Hold the agent's indexes, in the order in which every writer takes them."""
        held = list(
            Index.objects.select_for_update(no_key=True)
            .filter(tenant=self.agent.tenant_id, agent=self.agent.pk)
            .exclude(state=State.RETIRED)
            .order_by("pk")
        )
        return next(index for index in held if index.state == State.SERVING)

    def prepare(self) -> None:
        """The graph and the statistics that its size wants, before any search needs them."""
        with transaction.atomic():
            self._lock()
            self._count()
        self.index.refresh_from_db()
        graph.fit_now(self.index)

    def probe(self) -> None:
        """The first passages may have been embedded by something else than the last ones."""
        probe = probe_index(self.index)
        if probe.error_code:
            raise embedding.EmbedderUnavailable(f"The last check ended in {probe.error_code}.")
        if probe.below:
            raise NewIndexMismatch("Nothing was switched. Start anew with --restart.")

    def switch(self) -> bool:
        """The new index serves, the old one is retired; False when something is missing again."""
        with transaction.atomic():
            old = self._lock()
            if self._missing(0):
                return False
            self._count()
            Index.objects.filter(pk=old.pk, tenant=old.tenant_id).update(
                state=State.RETIRED, retired_at=timezone.now()
            )
            Index.objects.filter(pk=self.index.pk, tenant=self.index.tenant_id).update(
                state=State.SERVING
            )
        if not self.index.copies_vectors:
            forget_questions(self.embedder.space)
        self.index.refresh_from_db()
        graph.fit(self.index)
        return True

    def _count(self) -> None:
        Index.objects.filter(pk=self.index.pk, tenant=self.index.tenant_id).update(
            passages=_rows(self.index).filter(enabled=True).count()
        )


def remove_retired(grace: timedelta = GRACE) -> int:
    """Remove every index that was retired longer ago than `grace`; returns how many."""
    indexes = Index.objects.select_related("space").filter(
        state=State.RETIRED, retired_at__lte=timezone.now() - grace
    )
    for index in list(indexes):
        remove(index)
    return len(indexes)


def remove(index: Index) -> None:
    """The graph, the rows in small transactions, then the index itself. Safe to run twice."""
    graph.drop(index)
    while _remove_some(index):
        pass
    Index.objects.filter(pk=index.pk, tenant=index.tenant_id).exclude(state=State.SERVING).delete()


def _remove_some(index: Index) -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingestion_indexedpassage WHERE index_id = %(index)s "
            "AND tenant_id = %(tenant)s AND passage_id IN (SELECT passage_id "
            "FROM ingestion_indexedpassage WHERE index_id = %(index)s AND tenant_id = %(tenant)s "
            "ORDER BY passage_id LIMIT %(some)s)",
            {"index": index.pk, "tenant": index.tenant_id, "some": REMOVED_AT_ONCE},
        )
        return cursor.rowcount


def _rows(index: Index) -> Any:
    return IndexedPassage.objects.filter(index=index.pk, tenant=index.tenant_id)


def _of(agent: Agent, state: str) -> Any:
    return Index.objects.select_related("space").filter(
        tenant=agent.tenant_id, agent=agent.pk, state=state
    )


@contextmanager
def _alone(agent: Agent) -> Iterator[None]:
    """One run an agent; the lock is the connection's, so it goes when the process dies."""
    name = int.from_bytes(agent.pk.bytes[:8], signed=True)
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [name])
        if not cursor.fetchone()[0]:
            raise ReembedRunning
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_unlock(%s)", [name])
