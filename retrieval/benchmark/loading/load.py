"""Agents of the sizes asked for, loaded fast: the tables look as ingestion leaves them.

A measured agent has passages of its own, each with its own text. The many others, which are only
there, draw theirs from a pool of passages that were made once, with the lexemes of each carrying
the key of its own index. Vectors are made anew for all. At the end an agent gets the graph and the
statistics that ingestion would give it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import numpy as np
from django.db import connection, transaction

from dolphy.embedding import Vectors
from ingestion import graph
from ingestion.embed import text_key
from ingestion.indexes import index_for
from ingestion.models import Document, Index
from retrieval.benchmark.loading.invent import Inventor, Passage
from retrieval.benchmark.loading.rows import (
    Content,
    Placed,
    passage_ids,
    write_indexed,
    write_passages,
)
from retrieval.evaluation.progress import Tell
from tenants.models import Agent, Tenant

BLOCK = 5_000
POOL = 2_000
PASSAGES_A_DOCUMENT, TOKENS = 20, 150
ASKED_ABOUT = 500
BYTES_A_NEIGHBOURHOOD = 1_000  # of a passage in a graph being built, beside its vector; ample


class Contents(Protocol):
    """Where an agent's passages come from."""

    def __call__(self, count: int) -> list[Content]: ...


def own(inventor: Inventor) -> Contents:
    """Each passage is made for its place."""
    return lambda count: [content(inventor.passage()) for _ in range(count)]


def pooled(inventor: Inventor, seed: int = 0) -> Contents:
    """Passages that others have as well, of which `POOL` are made at the first call."""
    numbers, pool = np.random.default_rng(seed), list[Content]()

    def draw(count: int) -> list[Content]:
        if not pool:
            pool.extend(own(inventor)(POOL))
        return [pool[place] for place in numbers.integers(0, len(pool), count)]

    return draw


def content(passage: Passage) -> Content:
    return Content(
        passage.text,
        text_key(passage.text),
        tuple(sorted(lexeme.encode() for lexeme in passage.lexemes.stemmed)),
        tuple(sorted(lexeme.encode() for lexeme in passage.lexemes.plain)),
    )


def load(
    owner: Tenant, slug: str, size: int, inventor: Inventor, contents: Contents, tell: Tell
) -> Vectors:
    """An agent with `size` passages; returns some of its vectors, to ask about."""
    agent = Agent.objects.create(tenant=owner, slug=slug, name=slug, language="tr")
    index = index_for(agent)
    every, kept, done = max(1, size // ASKED_ABOUT), list[Vectors](), 0
    for vectors in inventor.blocks(size, BLOCK):
        with transaction.atomic():
            _write(agent, index, done, contents(len(vectors)), vectors)
        kept.append(vectors[-done % every :: every])
        done += len(vectors)
        tell(done, size)
    Index.objects.filter(pk=index.pk, tenant=owner).update(passages=size)
    index.refresh_from_db()
    with room_for_graph(size, inventor.width):
        graph.fit_now(index)
    return np.concatenate(kept)


@contextmanager
def room_for_graph(passages: int, width: int) -> Iterator[None]:
    """Enough memory in this session to build a graph in one go; what is set, if that is more."""
    wanted = passages * (2 * width + BYTES_A_NEIGHBOURHOOD) // 1024
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT setting::bigint FROM pg_settings WHERE name = 'maintenance_work_mem'"
        )
        (given,) = cursor.fetchone()
        cursor.execute(f"SET maintenance_work_mem = {max(wanted, given)}")
        try:
            yield
        finally:
            cursor.execute("RESET maintenance_work_mem")


def _write(
    agent: Agent, index: Index, first: int, contents: list[Content], vectors: Vectors
) -> None:
    documents = Document.objects.bulk_create(
        Document(
            tenant_id=agent.tenant_id,
            agent_id=agent.pk,
            uri=f"document-{first + start:07d}.md",
            title=f"Document {first + start}",
            state=Document.State.READY,
            passage_count=min(PASSAGES_A_DOCUMENT, len(contents) - start),
        )
        for start in range(0, len(contents), PASSAGES_A_DOCUMENT)
    )
    placed = [
        Placed(key, documents[n // PASSAGES_A_DOCUMENT], n % PASSAGES_A_DOCUMENT, contents[n])
        for n, key in enumerate(passage_ids(len(contents)))
    ]
    write_passages(placed, TOKENS)
    write_indexed(index, placed, vectors)
