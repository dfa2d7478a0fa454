"""Random pools: agents whose passages lie in a few latent dimensions and speak in Zipf's words."""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Sequence

from django.db import connection

from ingestion.analyse import Lexemes, Root
from ingestion.models import CommonLexeme, Document, EmbeddingSpace, Index, Passage
from ingestion.swap import index_rows, scoped
from retrieval.statement import Settings
from tenants.models import Agent, Tenant
from tests.retrieval.contract import Row

WIDTH, LATENT = 24, 6
HOSTILE = ("o'brien", "back\\slash", "12:34", "a&b", "x|y", "!not", "q''q", ":*", "<->", "ö z", '"')


def settings(**changes: object) -> Settings:
    values: dict[str, object] = {
        "fusion": "calibrated",
        "semantic_weight": 0.8,
        "lexical_weight": 0.2,
        "semantic_depth": 40,
        "lexical_depth": 40,
        "limit": 8,
        "document_cap": 2,
        "strongest_document_cap": 4,
    }
    return Settings(**{**values, **changes})  # type: ignore[arg-type]


def half(number: float) -> float:
    """The number as a halfvec keeps it, so that both sides compare the same vectors."""
    return float(struct.unpack("e", struct.pack("e", number))[0])


class Pool:
    """A source of random rows, roots and questions; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.words = [f"w{n:03d}" for n in range(300)]
        self.words[3 : 3 + len(HOSTILE)] = HOSTILE
        self.frequency = [1 / (n + 1) for n in range(len(self.words))]
        self.axes = [self._gaussian(WIDTH) for _ in range(LATENT)]

    def _gaussian(self, width: int) -> list[float]:
        return [self.random.gauss(0, 1) for _ in range(width)]

    def vector(self) -> tuple[float, ...]:
        latent = self._gaussian(LATENT)
        mapped = [
            sum(z * axis[i] for z, axis in zip(latent, self.axes, strict=True))
            for i in range(WIDTH)
        ]
        noisy = [number + 0.2 * self.random.gauss(0, 1) for number in mapped]
        length = sum(number * number for number in noisy) ** 0.5
        return tuple(half(number / length) for number in noisy)

    def some_words(self, count: int) -> list[str]:
        return self.random.choices(self.words, self.frequency, k=count)

    def rows(self, passages: int, documents: int, *, disabled: float = 0.0) -> list[Row]:
        """Passages over documents, one in eight a copy of an earlier one."""
        rows: list[Row] = []
        owners = [
            (uuid.UUID(int=self.random.getrandbits(128)), self.random.random() >= disabled)
            for _ in range(documents)
        ]
        positions = [0] * documents
        for _ in range(passages):
            n = self.random.randrange(documents)
            owner, enabled = owners[n]
            place = (owner, f"belge-{n:03d}.md", positions[n])
            positions[n] += 1
            if rows and self.random.random() < 0.125:
                twin = self.random.choice(rows)
                copied = (twin.same_text, twin.vector, twin.stemmed, twin.plain)
                rows.append(Row(*place, *copied, enabled))
                continue
            words = self.some_words(20)
            text = uuid.UUID(int=self.random.getrandbits(128))
            stemmed, plain = frozenset(word[:3] for word in words), frozenset(words)
            rows.append(Row(*place, text, self.vector(), stemmed, plain, enabled))
        return rows

    def roots(self, count: int) -> tuple[Root, ...]:
        words = dict.fromkeys(self.some_words(count * 2))
        return tuple(
            Root(
                word,
                (word[:3],) if self.random.random() < 0.5 else (),
                (word,),
                self.random.choice((1.0, 1.0, 0.4)),
            )
            for word in list(words)[:count]
        )


def space() -> EmbeddingSpace:
    row, _ = EmbeddingSpace.objects.get_or_create(
        provider="test", model="random", dimensions=WIDTH, revision=""
    )
    return row


def make_index(tenant: Tenant, slug: str) -> Index:
    agent = Agent.objects.create(tenant=tenant, slug=slug, name=slug)
    return Index.objects.create(
        tenant_id=tenant.pk, agent=agent, space=space(), state=Index.State.SERVING
    )


def store(index: Index, rows: Sequence[Row]) -> None:
    """Write the rows in the order given; the index counts the enabled ones."""
    documents: dict[uuid.UUID, Document] = {}
    owner = {"tenant_id": index.tenant_id, "agent_id": index.agent_id}
    for row in rows:
        if row.document not in documents:
            documents[row.document] = Document.objects.create(
                id=uuid.uuid4(), uri=row.uri, title=row.uri, enabled=row.enabled, **owner
            )
    passages = Passage.objects.bulk_create(
        Passage(
            document=documents[row.document], position=row.position, tokens=3, heading=["Konu"],
            text=f"{row.uri} {row.position}", **owner,
        )
        for row in rows
    )  # fmt: skip
    for key, document in documents.items():
        entries = [
            (
                passage.pk,
                row.position,
                passage.text,
                row.same_text,
                Lexemes(tuple(sorted(row.stemmed)), tuple(sorted(row.plain))),
                row.vector,
            )
            for row, passage in zip(rows, passages, strict=True)
            if row.document == key
        ]
        index_rows(document, index, entries)
    index.passages = sum(row.enabled for row in rows)
    index.save()


def count_common(index: Index, common: dict[str, int]) -> None:
    """Say how many passages hold these lexemes, as the statistics of a large index do."""
    CommonLexeme.objects.bulk_create(
        CommonLexeme(
            tenant_id=index.tenant_id, index=index, lexeme=scoped(index.pk, lexeme), passages=count
        )
        for lexeme, count in common.items()
    )
    index.passages_at_statistics = index.passages
    index.save()


def analyze() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE ingestion_indexedpassage")


def drop_graphs() -> None:
    """What the emptying of the tables after a test leaves behind."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT relname FROM pg_class WHERE relkind = 'i' "
            "AND relname LIKE 'indexed_passage_graph_%%'"
        )
        for (name,) in cursor.fetchall():
            cursor.execute(f"DROP INDEX {name}")
