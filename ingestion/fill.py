"""Fill an index with the passages that another one serves and it does not hold yet.

Batch by batch: what is missing is asked of the database, gets its vectors and lexemes outside any
transaction, and is written while the agent's indexes are locked, under the documents as they are at
that moment. So it does not matter how often this is stopped, or what changes meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.db.models import QuerySet

from dolphy.embedding import Embedder, Vectors
from dolphy.embedding.meter import metered
from dolphy.errors import DolphyError
from ingestion.account import charge
from ingestion.analyse import analyse_passage, normalise
from ingestion.embed import text_key, vectors_in
from ingestion.models import Document, Index, IndexedPassage, serving_index
from ingestion.rebuilt import rebuilt
from ingestion.swap import index_rows
from tenants.models import Agent

COPIED_AT_ONCE = 256
_MISSING = (Path(__file__).parent / "missing.sql").read_text()

Progress = Callable[[int, int], None]


class NoPassages(DolphyError):
    """The agent has never ingested anything; its first document chooses the configured space."""

    code = "no_passages"
    status = 409


@dataclass(slots=True)
class Done:
    """Texts embedded and vectors copied so far; `too_long` passages lose their end to the limit of
    the embedder until their documents are ingested again."""

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


class Filling:
    """The filling of one index from the one that serves its agent. `progress(there, total)` is told
    in passages. Raises what the embedder raises; every batch before stays."""

    def __init__(self, agent: Agent, index: Index, embedder: Embedder, progress: Progress) -> None:
        self.agent, self.index, self.embedder = agent, index, embedder
        self.progress, self.done = progress, Done()

    def run(self) -> None:
        """Write what is missing, batch by batch, each in a transaction of its own."""
        there, total = rows_of(self.index).count(), rows_of(serving(self.agent)).count()
        self.progress(there, total)
        after = 0
        while batch := self.missing(after):
            there += self._write(batch)
            after = batch[-1].passage
            self.progress(there, max(there, total))

    def missing(self, after: int = 0) -> list[_Missing]:
        """The next batch of passages behind that one; empty when nothing is missing there."""
        values: dict[str, Any] = {
            "tenant": self.agent.tenant_id,
            "agent": self.agent.pk,
            "index": self.index.pk,
            "serving": serving(self.agent).pk,
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

    def _vectors(self, batch: Sequence[_Missing], texts: Sequence[str]) -> dict[UUID, Vectors]:
        """Of texts that the new index holds already; from the old one, if that may be; or new."""
        distinct = {text_key(text): text for text in texts}
        known = vectors_in(self.index, list(distinct))
        if self.index.copies_vectors:
            copied = vectors_in(serving(self.agent), [key for key in distinct if key not in known])
            self.done.copied += len(copied)
            known |= copied
        missing = [key for key in distinct if key not in known]
        if missing:
            self._note_too_long(batch, texts)
            fresh = self._embed([distinct[key] for key in missing])
            known |= dict(zip(missing, fresh, strict=True))
            self.done.embedded += len(missing)
        return known

    def _embed(self, texts: Sequence[str]) -> Vectors:
        """Embed on the tenant's account, whatever comes of it."""
        with metered() as use:
            try:
                return self.embedder.embed_passages(texts)
            finally:
                charge(self.agent.tenant_id, self.index.space_id, use, texts=len(texts))

    def _note_too_long(self, batch: Sequence[_Missing], texts: Sequence[str]) -> None:
        for one, text in zip(batch, texts, strict=True):
            if self.embedder.count_tokens(text) > self.embedder.max_tokens:
                self.done.too_long.append(f"{one.title}, passage {one.position + 1}")

    def _store(self, rows: dict[UUID, list[tuple[Any, ...]]]) -> int:
        """Write the rows whose passages are still there, under the document as it is now."""
        with transaction.atomic():
            old = lock(self.agent)
            alive = set(
                rows_of(old)
                .filter(passage__in=[row[0] for of_one in rows.values() for row in of_one])
                .values_list("passage_id", flat=True)
            )
            documents = Document.objects.filter(
                tenant=self.agent.tenant_id, agent=self.agent.pk
            ).in_bulk(rows)
            for key, document in documents.items():
                index_rows(document, self.index, [row for row in rows[key] if row[0] in alive])
        return len(alive)


def serving(agent: Agent) -> Index:
    """The index that serves this agent. Raises `NoPassages`."""
    index = serving_index(agent)
    if index is None:
        raise NoPassages
    return index


def lock(agent: Agent) -> Index:
    """Hold the agent's indexes, in the order in which every writer takes them; the serving one."""
    held = list(
        Index.objects.select_for_update(no_key=True)
        .filter(tenant=agent.tenant_id, agent=agent.pk)
        .exclude(state=Index.State.RETIRED)
        .order_by("pk")
    )
    return next(index for index in held if index.state == Index.State.SERVING)


def rows_of(index: Index) -> QuerySet[IndexedPassage]:
    return IndexedPassage.objects.filter(index=index.pk, tenant=index.tenant_id)
