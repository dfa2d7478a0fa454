"""Re-embed: an agent's passages get a new index beside the old one, which then takes its place.

    begin or resume → fill → count, graph, statistics → fill what changed → words → probe → switch

What is missing is asked of the database: passages that the serving index holds and the new one does
not (`fill.py`). So a run that was stopped goes on where it was, and documents that are added,
replaced or deleted meanwhile need no bookkeeping: ingestion goes on with the serving index, new
passages are missing, and deleted ones leave both by cascade. The switch is made when nothing is
missing, under the lock that every swap takes. A new analyser counts the documents' words anew too.

A search reads the serving index once, and embeds its question in that index's space, so no search
mixes two. The old index is removed later (`retired.py`), when no search can be reading it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils import timezone

from dolphy import embedding
from dolphy.embedding import Embedder
from dolphy.embedding.remembered import forget_questions
from dolphy.errors import DolphyError
from ingestion import graph
from ingestion.analyse import ANALYSER_VERSION
from ingestion.fill import Done, Filling, Progress, lock, rows_of, serving
from ingestion.indexes import space_of, space_row
from ingestion.models import Index
from ingestion.probe import probe_index
from ingestion.respell import respell
from ingestion.retired import remove
from tenants.models import Agent

State = Index.State


class NothingToReembed(DolphyError):
    """The agent's passages are in that space already, written by the running analyser."""

    code = "nothing_to_reembed"
    status = 409


class ReembedRunning(DolphyError):
    """This agent is being re-embedded already."""

    code = "reembed_running"
    status = 409


class NewIndexMismatch(DolphyError):
    """The embedder answers differently now than it did for the passages embedded before."""

    code = "new_index_mismatch"
    status = 503


@dataclass(frozen=True, slots=True)
class Outcome:
    """The index that serves now, passages that were there before this run, and what it did."""

    index: Index
    resumed: int
    done: Done


def reembed(
    agent: Agent,
    embedder: Embedder | None = None,
    *,
    again: bool = False,
    restart: bool = False,
    progress: Progress = lambda there, total: None,
) -> Outcome:
    """Build the agent's index in the embedder's space (the configured one) and let it serve.

    `again` embeds anew what is there in the same space; `restart` throws away what a stopped run
    built. Raises the errors above, `NoPassages` and what the embedder raises; then the old index
    serves on, and another call resumes.
    """
    embedder = embedder or embedding.configured()
    with _alone(agent):
        index = _begin(agent, embedder, again=again, restart=restart)
        resumed = rows_of(index).count()
        filling = Filling(agent, index, embedder, progress)
        filling.run()
        _prepare(agent, index)
        filling.run()
        if _is_stale(serving(agent)):
            respell(agent, embedder)
        _probe(index)
        while not _switch(filling):
            filling.run()
    return Outcome(index, resumed, filling.done)


def wanted(agent: Agent, embedder: Embedder, *, again: bool = False) -> bool:
    """Whether the serving index is in another space, doubted, or of an older analyser."""
    index = serving(agent)
    elsewhere = space_of(index) != embedder.space
    return again or elsewhere or not index.trusted or _is_stale(index)


def _is_stale(index: Index) -> bool:
    return rows_of(index).exclude(analyser=ANALYSER_VERSION).exists()


def _begin(agent: Agent, embedder: Embedder, *, again: bool, restart: bool) -> Index:
    """Take up the index that a stopped run left, if it is of use, or start a new one."""
    left = (
        Index.objects.select_related("space")
        .filter(tenant=agent.tenant_id, agent=agent.pk, state=State.BUILDING)
        .first()
    )
    if left is not None and not restart and space_of(left) == embedder.space:
        rows_of(left).exclude(analyser=ANALYSER_VERSION).delete()
        return left
    if left is not None:
        remove(left)
    if not wanted(agent, embedder, again=again):
        raise NothingToReembed
    old = serving(agent)
    return Index.objects.create(
        tenant_id=agent.tenant_id,
        agent=agent,
        space=space_row(embedder.space),
        state=State.BUILDING,
        copies_vectors=space_of(old) == embedder.space and old.trusted and not again,
    )


def _prepare(agent: Agent, index: Index) -> None:
    """The graph and the statistics that its size wants, before any search needs them."""
    with transaction.atomic():
        lock(agent)
        _count(index)
    index.refresh_from_db()
    graph.fit_now(index)


def _probe(index: Index) -> None:
    """The first passages may have been embedded by something else than the last ones."""
    probe = probe_index(index)
    if probe.error_code:
        raise embedding.EmbedderUnavailable(f"The last check ended in {probe.error_code}.")
    if probe.below:
        raise NewIndexMismatch("Nothing was switched. Start anew with --restart.")


def _switch(filling: Filling) -> bool:
    """The new index serves, the old one is retired; False when something is missing again."""
    agent, index = filling.agent, filling.index
    with transaction.atomic():
        old = lock(agent)
        if filling.missing():
            return False
        _count(index)
        _set(old, state=State.RETIRED, retired_at=timezone.now())
        _set(index, state=State.SERVING)
    if not index.copies_vectors:
        forget_questions(filling.embedder.space)
    index.refresh_from_db()
    graph.fit(index)
    return True


def _count(index: Index) -> None:
    _set(index, passages=rows_of(index).filter(enabled=True).count())


def _set(index: Index, **columns: object) -> None:
    Index.objects.filter(pk=index.pk, tenant=index.tenant_id).update(**columns)


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
