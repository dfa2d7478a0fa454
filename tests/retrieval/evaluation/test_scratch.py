"""A corpus stands in a scratch tenant as ingestion would leave it, and leaves nothing behind."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from django.db import connection

from dolphy import embedding
from dolphy.embedding.nano import NanoEmbedder
from ingestion.models import Document, Index, IndexedPassage, Passage, Word, serving_index
from retrieval.evaluation import scratch
from retrieval.evaluation.dataset import read
from retrieval.evaluation.scratch import language_of, loaded, remove_leftovers
from retrieval.evaluation.vectors import file_of, vectors_for
from retrieval.retrieve import retrieve
from tenants.models import Tenant
from tests.factories import World
from tests.retrieval.evaluation.conftest import CORPUS, Folder

pytestmark = pytest.mark.django_db


def nothing(done: int, total: int) -> None:
    """Nobody watches the progress."""


def test_every_row_is_a_document_of_one_passage(folder: Folder) -> None:
    with loaded(read(folder.path), nothing) as agent:
        assert Document.objects.filter(agent=agent).count() == len(CORPUS)
        passage = Passage.objects.get(agent=agent, document__uri="kargo")
        assert passage.text == CORPUS[1]["text"]
        assert passage.document.title == "Kargo"
        index = serving_index(agent)
        assert index is not None
        assert index.passages == len(CORPUS)
        assert Word.objects.filter(agent=agent, folded="magazalarimiz").exists()
        assert not agent.tenant.is_active


def test_its_questions_are_answered_by_the_production_path(folder: Folder) -> None:
    with loaded(read(folder.path), nothing) as agent:
        found = retrieve(agent, "Ankara'ya kargo ücreti ne kadar?")
        assert found.evidence[0].uri == "kargo"
        assert found.trace["passages"] == len(CORPUS)


def test_the_title_is_part_of_what_is_embedded_and_indexed(folder: Folder) -> None:
    folder.corpus([*CORPUS, {"_id": "x", "title": "Zürafa", "text": "Bu bir hayvandır."}])
    with loaded(read(folder.path), nothing) as agent:
        found = retrieve(agent, "zürafa", fusion="lexical")
        assert [item.uri for item in found.evidence] == ["x"]


def test_nothing_is_left_when_the_block_ends_by_an_error(folder: Folder, acme: World) -> None:
    before = {model: model.objects.count() for model in (Tenant, Index, Document, Passage, Word)}
    with pytest.raises(KeyboardInterrupt), loaded(read(folder.path), nothing):
        raise KeyboardInterrupt
    after = {model: model.objects.count() for model in before}
    assert after == before
    assert IndexedPassage.objects.filter(tenant=acme.tenant).exists()


def test_what_a_killed_run_left_is_removed(acme: World) -> None:
    left = Tenant.objects.create(slug=f"scratch-{'0' * 32}", name=scratch.NAME, is_active=False)
    assert remove_leftovers() == 1
    assert not Tenant.objects.filter(pk=left.pk).exists()
    assert Tenant.objects.filter(pk=acme.tenant.pk).exists()


@pytest.mark.parametrize(
    "fields",
    [
        {"slug": "scratch-paper", "name": scratch.NAME, "is_active": False},
        {"slug": f"scratch-{'1' * 32}", "name": "Scratch Ltd", "is_active": False},
        {"slug": f"scratch-{'1' * 32}", "name": scratch.NAME, "is_active": True},
    ],
)
def test_a_tenant_that_only_looks_like_scratch_stays(fields: dict) -> None:
    Tenant.objects.create(**fields)
    assert remove_leftovers() == 0


def test_the_scratch_tenant_of_a_living_run_stays() -> None:
    slug = f"scratch-{'2' * 32}"
    Tenant.objects.create(slug=slug, name=scratch.NAME, is_active=False)
    living = connection.copy()
    try:
        with living.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_lock(hashtextextended(%s, 0))", [slug])
        assert remove_leftovers() == 0
    finally:
        living.close()


def test_a_large_corpus_gets_and_loses_its_graph(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, dropped = [], []
    monkeypatch.setattr(scratch.graph, "fit_now", lambda index: built.append(index.pk))
    monkeypatch.setattr(scratch.graph, "drop", lambda index: dropped.append(index.pk))
    with loaded(read(folder.path), nothing) as agent:
        Index.objects.filter(agent=agent).update(has_graph=True)
    assert built == dropped != []


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Ürünlerinizi iade etmek için bize ulaşın ve bu formu doldurun.", "tr"),
        ("You can return the goods to our store within the given time.", "en"),
        ("xx yy", "tr"),
    ],
)
def test_the_language_is_that_of_the_corpus(folder: Folder, text: str, language: str) -> None:
    folder.corpus([{"_id": name, "text": text} for name in ("iade", "kargo", "magaza")])
    assert language_of(read(folder.path)) == language


class Counting(NanoEmbedder):
    """The real embedder, counting the texts that it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> embedding.Vectors:
        self.texts += texts
        return super().embed_passages(texts)


def test_a_text_is_embedded_once_and_then_read_from_disk() -> None:
    embedder = Counting()
    told: list[tuple[int, int]] = []
    first = vectors_for(embedder, ["bir", "iki", "bir"], lambda *done: told.append(done))
    again = vectors_for(embedder, ["iki", "bir"], nothing)
    assert sorted(embedder.texts) == ["bir", "iki"]
    assert told == [(0, 2), (2, 2)]
    assert np.array_equal(first[[1, 0]], again)
    assert np.array_equal(first[0], first[2])


def test_batches_that_were_done_are_kept_when_the_run_is_stopped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedder = Counting()
    embedder.batch = 1
    whole = embedder.embed_passages

    def stopped(texts: Sequence[str]) -> embedding.Vectors:
        if len(embedder.texts) == 2:
            raise KeyboardInterrupt
        return whole(texts)

    monkeypatch.setattr(embedder, "embed_passages", stopped)
    with pytest.raises(KeyboardInterrupt):
        vectors_for(embedder, ["bir", "iki", "dört"], nothing)
    monkeypatch.undo()
    vectors_for(embedder, ["bir", "iki", "dört"], nothing)
    assert sorted(embedder.texts) == ["bir", "dört", "iki"]


def test_spaces_do_not_share_a_file() -> None:
    space = embedding.configured().space
    other = embedding.Space(space.provider, space.model, space.dimensions, "other")
    assert file_of(space) != file_of(other)
