"""The statement says what the contract says, on random pools beside other tenants' rows."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from uuid import UUID

import numpy as np
import pytest

from ingestion.analyse import Root
from ingestion.models import Index
from retrieval.statement import Settings, candidates
from tenants.models import Tenant
from tests.retrieval.contract import Judged, Row, contract, looked_up
from tests.retrieval.pools import HOSTILE, Pool, count_common, make_index, settings, store

pytestmark = pytest.mark.django_db


@pytest.fixture
def index(db: None) -> Index:
    """An empty index of acme's, beside full ones of acme's other agent and of globex."""
    acme = Tenant.objects.create(slug="acme", name="Acme")
    globex = Tenant.objects.create(slug="globex", name="Globex")
    for number, tenant in enumerate((acme, globex)):
        store(make_index(tenant, "beside"), Pool(1000 + number).rows(60, 6))
    return make_index(acme, "asked")


def ask(index: Index, roots: Sequence[Root], question: Sequence[float], chosen: Settings) -> list:
    return list(candidates(index, roots, np.array(question, np.float32), chosen))


def bits(roots: int) -> frozenset[int]:
    return frozenset(n for n in range(64) if roots >> n & 1)


def assert_same(found: Sequence, expected: Sequence[Judged]) -> None:
    """Candidates, order, ranks, roots and verdicts are equal; numbers to a millionth."""

    def said_of(one: Judged) -> tuple:
        row = one.row
        branches = (one.semantic_rank, one.lexical_rank)
        return (row.uri, row.position, *branches, one.roots, one.verdict, one.rank)

    assert [
        (r.uri, r.position, r.semantic_rank, r.lexical_rank, bits(r.roots), r.verdict, r.rank)
        for r in found
    ] == [said_of(one) for one in expected]
    assert [r.place for r in found] == list(range(1, len(found) + 1))
    for name in ("similarity", "semantic", "lexical", "score"):
        assert [getattr(r, name) for r in found] == pytest.approx(
            [getattr(one, name) for one in expected], abs=1e-6
        ), name


CASES = {
    "defaults": {},
    "more weight on words": {"semantic_weight": 0.3, "lexical_weight": 0.7},
    "words only in the score": {"semantic_weight": 0.0, "lexical_weight": 1.0},
    "shallow": {"semantic_depth": 5, "lexical_depth": 7},
    "deep": {"semantic_depth": 200, "lexical_depth": 200, "limit": 50},
    "one a document": {"document_cap": 1, "strongest_document_cap": 1, "limit": 20},
    "wide caps": {"document_cap": 50, "strongest_document_cap": 50},
    "one row": {"limit": 1},
    "no lexical branch": {"lexical_depth": 0},
    "rrf": {"fusion": "rrf"},
    "rrf, shallow": {"fusion": "rrf", "semantic_depth": 3, "lexical_depth": 9, "limit": 12},
    "semantic alone": {"fusion": "semantic", "lexical_depth": 0},
    "lexical alone": {"fusion": "lexical", "semantic_depth": 0},
}


@pytest.mark.parametrize("name", CASES)
def test_the_statement_says_what_the_contract_says(name: str, index: Index) -> None:
    pool = Pool(list(CASES).index(name))
    rows = pool.rows(180, 15, disabled=0.2)
    store(index, rows)
    for roots in (1, 4, 9):
        asked, question = pool.roots(roots), pool.vector()
        expected = contract(rows, asked, question, settings(**CASES[name]))
        assert expected
        assert_same(ask(index, asked, question, settings(**CASES[name])), expected)


@pytest.mark.parametrize("passages", [1, 2, 7, 39, 41, 90])
def test_small_agents_bring_all_they_have(passages: int, index: Index) -> None:
    pool = Pool(passages)
    rows = pool.rows(passages, 4)
    store(index, rows)
    question, roots = pool.vector(), pool.roots(3)
    found = ask(index, roots, question, settings())
    assert_same(found, contract(rows, roots, question, settings()))
    assert sum(r.semantic_rank is not None for r in found) == min(40, passages)


def test_an_empty_agent_has_no_candidates(index: Index) -> None:
    pool = Pool(1)
    assert ask(index, pool.roots(3), pool.vector(), settings()) == []


def test_a_question_without_roots_is_answered_by_cosine_alone(index: Index) -> None:
    pool = Pool(2)
    rows = pool.rows(80, 6)
    store(index, rows)
    question = pool.vector()
    for chosen in (settings(), settings(fusion="rrf"), settings(fusion="semantic")):
        found = ask(index, (), question, chosen)
        assert_same(found, contract(rows, (), question, chosen))
        assert {r.lexical for r in found} == {0}
    assert ask(index, (), question, settings(fusion="lexical", semantic_depth=0)) == []


def test_an_agent_with_every_document_disabled_has_no_candidates(index: Index) -> None:
    pool = Pool(3)
    store(index, pool.rows(30, 3, disabled=1.0))
    assert ask(index, pool.roots(5), pool.vector(), settings()) == []


def test_a_question_may_have_thirty_two_roots(index: Index) -> None:
    pool = Pool(4)
    rows = pool.rows(150, 10)
    store(index, rows)
    roots = tuple(Root(word, (word[:3],), (word,)) for word in pool.words[:32])
    question = pool.vector()
    found = ask(index, roots, question, settings())
    assert_same(found, contract(rows, roots, question, settings()))
    assert any(r.roots >> 31 & 1 or r.roots >> 30 & 1 for r in found)


def test_hostile_lexemes_are_words_like_any_other(index: Index) -> None:
    pool = Pool(5)
    rows = pool.rows(120, 8)
    store(index, rows)
    question = pool.vector()
    for word in HOSTILE:
        roots = (Root(word, (), (word,)), Root("none", ("'",), ("\\", "no:where", "& | !")))
        expected = contract(rows, roots, question, settings())
        assert any(0 in one.roots for one in expected), word
        assert_same(ask(index, roots, question, settings()), expected)


def test_ties_break_by_uri_and_position(index: Index) -> None:
    vector = Pool(6).vector()
    rows = [
        Row(UUID(int=n // 3), uri, n % 3, UUID(int=n), vector, frozenset(), frozenset({"w"}))
        for n, uri in enumerate(u for u in ("b.md", "a.md", "Ç.md", "Z.md") for _ in range(3))
    ]
    store(index, rows)
    for fusion in ("calibrated", "semantic"):
        found = ask(index, (Root("w", (), ("w",)),), vector, settings(fusion=fusion))
        assert [(r.uri, r.position) for r in found] == [
            (uri, n) for uri in ("Z.md", "a.md", "b.md", "Ç.md") for n in range(3)
        ]


def test_the_order_does_not_depend_on_how_rows_arrived(index: Index) -> None:
    pool = Pool(7)
    rows = pool.rows(150, 12)
    store(index, rows)
    again = make_index(Tenant.objects.get(slug="globex"), "again")
    shuffled = random.Random(0).sample(rows, len(rows))
    store(again, shuffled)
    for fusion in ("calibrated", "rrf", "semantic"):
        roots, question = pool.roots(5), pool.vector()
        one, two = (ask(i, roots, question, settings(fusion=fusion)) for i in (index, again))
        told = [
            [(r.uri, r.position, r.score, r.verdict, r.rank) for r in rows] for rows in (one, two)
        ]
        assert told[0] == told[1]
        assert {r.passage_id for r in one}.isdisjoint({r.passage_id for r in two})


def test_common_roots_are_not_looked_up_and_still_count(index: Index) -> None:
    pool = Pool(8)
    rows = pool.rows(200, 15)
    store(index, rows)
    common = Counter(
        form for row in rows for form in {*row.stemmed, *row.plain} if form in pool.words[:40]
    )
    count_common(index, dict(common))
    words = (pool.words[0], pool.words[40], pool.words[1], pool.words[90])
    roots = tuple(Root(word, (), (word,)) for word in words)
    for bound in (0, 5, 60, 10_000):
        chosen = settings(lexical_bound=bound)
        question = pool.vector()
        found = ask(index, roots, question, chosen)
        assert_same(found, contract(rows, roots, question, chosen, common))
        assert bits(found[0].looked_up or 0) == looked_up(roots, common, chosen)
    assert any(r.lexical > 0 and r.lexical_rank is None for r in found)


def test_one_common_root_alone_is_looked_up_within_a_bound_of_its_own(index: Index) -> None:
    pool = Pool(9)
    rows = pool.rows(120, 9)
    store(index, rows)
    count_common(index, {pool.words[0]: 100})
    roots = (Root("w", (), (pool.words[0],)),)
    for bound, searched in ((25, True), (24, False)):
        chosen = settings(lexical_bound=bound)
        question = pool.vector()
        found = ask(index, roots, question, chosen)
        assert_same(found, contract(rows, roots, question, chosen, {pool.words[0]: 100}))
        assert any(r.lexical_rank for r in found) == searched


def test_the_lexical_branch_ranks_by_rarity_among_the_agents_enabled_passages(
    index: Index,
) -> None:
    """`rare` is common among disabled and foreign passages, which must not count."""
    pool = Pool(10)
    word = {"rare": frozenset({"rare"}), "often": frozenset({"often"})}

    def row(document: int, position: int, text: str, enabled: bool = True) -> Row:
        n = document * 100 + position
        uri = f"{document}.md"
        kind = word[text]
        return Row(
            UUID(int=document), uri, position, UUID(int=n), pool.vector(), kind, kind, enabled
        )

    rows = [row(1, n, "often") for n in range(10)] + [row(2, 0, "rare")]
    rows += [row(3, n, "rare", enabled=False) for n in range(30)]
    store(index, rows)
    store(make_index(index.agent.tenant, "third"), [row(4, n, "rare") for n in range(30)])
    roots = tuple(Root(w, (), (w,)) for w in word)
    chosen = settings(fusion="lexical", semantic_depth=0)
    found = ask(index, roots, pool.vector(), chosen)
    assert found[0].uri == "2.md" and found[0].lexical_rank == 1
    assert len(found) == 11


def test_evidence_never_holds_a_duplicate_and_reaches_the_limit(index: Index) -> None:
    pool = Pool(11)
    rows = pool.rows(100, 3)
    store(index, rows)
    texts = {(row.uri, row.position): row.same_text for row in rows}
    for limit in (1, 8, 30, 50):
        chosen = settings(limit=limit)
        found = ask(index, pool.roots(4), pool.vector(), chosen)
        kept = [texts[r.uri, r.position] for r in found if r.rank]
        distinct = {texts[r.uri, r.position] for r in found}
        assert len(set(kept)) == len(kept) == min(limit, len(distinct))
        assert sorted(r.rank for r in found if r.rank) == list(range(1, len(kept) + 1))


def test_the_strongest_document_keeps_more_than_the_rest(index: Index) -> None:
    pool = Pool(12)
    rows = pool.rows(90, 9)
    store(index, rows)
    chosen = settings(limit=16, document_cap=1, strongest_document_cap=4)
    found = ask(index, pool.roots(3), pool.vector(), chosen)
    kept = Counter(r.document_id for r in found if r.verdict == "kept")
    strongest = found[0].document_id
    assert kept[strongest] == 4
    assert {count for document, count in kept.items() if document != strongest} == {1}
    filled = [r for r in found if r.verdict == "filled"]
    assert sum(kept.values()) + len(filled) == 16
    assert min(r.rank for r in filled) > max(r.rank for r in found if r.verdict == "kept")


def test_of_equal_texts_the_best_one_stays(index: Index) -> None:
    pool = Pool(13)
    near = pool.vector()
    far = tuple(-number for number in near)
    base = Row(UUID(int=1), "a.md", 0, UUID(int=9), far, frozenset(), frozenset({"w"}))
    rows = [
        base,
        replace(base, document=UUID(int=2), uri="z.md", vector=near),
        replace(
            base, document=UUID(int=3), uri="m.md", vector=pool.vector(), same_text=UUID(int=8)
        ),
    ]
    store(index, rows)
    found = {r.uri: r for r in ask(index, (), near, settings())}
    assert found["z.md"].rank == 1
    assert found["a.md"].verdict == "duplicate" and found["a.md"].rank is None


def test_evidence_has_its_text_and_candidates_that_are_dropped_do_not(index: Index) -> None:
    pool = Pool(14)
    store(index, pool.rows(60, 5))
    for r in ask(index, pool.roots(3), pool.vector(), settings()):
        if r.rank:
            assert (r.title, r.text) == (r.uri, f"{r.uri} {r.position}")
            assert r.heading == ["Konu"]
        else:
            assert r.text is None


def test_nothing_of_another_agent_or_tenant_enters_the_pool(index: Index) -> None:
    """The same passages stand beside: in the tenant's other agent, and with another tenant."""
    pool = Pool(15)
    rows = pool.rows(50, 5)
    store(index, rows)
    other = [replace(row, uri=f"other-{row.uri}") for row in rows]
    store(make_index(index.agent.tenant, "neighbour"), other)
    store(make_index(Tenant.objects.get(slug="globex"), "neighbour"), other)
    roots, question = pool.roots(6), pool.vector()
    found = ask(index, roots, question, settings())
    assert_same(found, contract(rows, roots, question, settings()))


def test_a_claim_of_another_tenant_on_an_index_finds_nothing(index: Index) -> None:
    """The index's key alone opens nothing: tenant and agent stand in the statement too."""
    pool = Pool(16)
    store(index, pool.rows(30, 3))
    globex = Tenant.objects.get(slug="globex")
    for claim in ({"tenant_id": globex.pk}, {"agent_id": globex.agents.get().pk}):
        stranger = Index.objects.select_related("space").get(pk=index.pk)
        for name, value in claim.items():
            setattr(stranger, name, value)
        assert ask(stranger, pool.roots(5), pool.vector(), settings()) == []
