"""A word that no document holds is read as the one that was meant, and only if that is sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping

import pytest

from ingestion import documents
from ingestion.analyse import surface_forms
from ingestion.models import Word
from retrieval.replay import compared
from retrieval.retrieve import retrieve
from retrieval.slips import find, put_right
from retrieval.vocabulary import Vocabulary
from tests.factories import World, make_document

DOCUMENTS = """
Siparişlerinizi hesabım sayfasından iptal edebilirsiniz. Kargo ücretsizdir, kargolar ertesi gün yola
çıkar. Garanti süresi iki yıldır. Elli rengi vardır, metin yazılır. Taksidim neden görünmüyor?
Sorular müşteri hizmetlerine sorulur. Soruları yanıtlarız.
"""


class Held:
    """The vocabulary of a text; it counts how often it is asked."""

    def __init__(self, text: str, language: str = "tr") -> None:
        self.asked = 0
        self.words: dict[str, Counter[str]] = {}
        for folded, surface in surface_forms(text, language):
            self.words.setdefault(folded, Counter())[surface] += 1

    def known(self, folded: Collection[str]) -> Collection[str]:
        self.asked += 1
        return self.words.keys() & folded

    def counts(self, folded: Collection[str]) -> Mapping[str, int]:
        return {form: self.words[form].total() for form in self.known(folded)}

    def spellings(self, folded: Collection[str]) -> Mapping[str, str]:
        return {form: self.words[form].most_common(1)[0][0] for form in self.known(folded)}


def read(question: str, text: str = DOCUMENTS, language: str = "tr") -> str:
    return put_right(question, find(question, Held(text, language), language), language)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("krago ne kadar?", "kargo ne kadar?"),
        ("Krago ücreti", "Kargo ücreti"),
        ("kaargo bedava mı", "kargo bedava mı"),
        ("gaaranti  süersi kaç yıl…", "garanti  süresi kaç yıl…"),
        ("müşetri hizmetleri", "müşteri hizmetleri"),
        ("musetri hizmetleri", "müşteri hizmetleri"),
        ("Kargo'nun gaarntisi", "Kargo'nun gaarntisi"),  # two slips in one word
        ("krago'nun süresi", "kargo'nun süresi"),
        ("nsaıl iptal ederim", "nasıl iptal ederim"),  # a question word
        ("krago kıralı krago", "kargo kıralı kargo"),
    ],
)
def test_swapped_and_doubled_letters_are_put_right(typed: str, meant: str) -> None:
    assert read(typed) == meant


@pytest.mark.parametrize(
    "question",
    [
        "Kargo ne kadar sürer?",  # nothing unknown
        "belli olur mu",  # another word, though `elli` and `beli` are near
        "metni nerede",  # of `metin`: the last two letters change places in Turkish
        "taşıdım ama görünmüyor",  # an added letter makes `taksidim` of it
        "karg ne kadar",  # too short to be sure of
        "akrgo ne kadar",  # the first letter is taken to be right
        "sorunların çözümü",  # known by its beginning
        "siparişlerniizi iptal",  # so is this one, and the lexical branch finds it
        "kgarooo",
        "TR-1234 kodlu ürün, yardim@acme.com.tr",
        "",
    ],
)
def test_what_may_be_a_word_is_left_as_typed(question: str) -> None:
    assert read(question) is question


def test_many_unknown_words_are_another_language() -> None:
    assert read("krago please") == "kargo please"
    assert read("krago please refund order quickly") == "krago please refund order quickly"


def test_the_word_that_the_documents_hold_most_was_meant() -> None:
    assert read("kolonu", "kolon kolnou kolnou") == "kolonu"
    assert read("kloonu", "koolnu kolonu kolonu", "en") == "kolonu"


def test_another_language_has_its_slips() -> None:
    assert read("refnud a purchasse", "A refund of your purchase.", "en") == "refund a purchase"


def test_the_documents_are_asked_once_where_no_word_is_unknown() -> None:
    held = Held(DOCUMENTS)
    assert find("Kargo süresi nedir, garanti var mı?", held) == ()
    assert held.asked == 1


def test_an_endless_word_is_no_slip() -> None:
    held = Held(DOCUMENTS)
    assert find("ab" * 900, held) == () and held.asked <= 1


def written(world: World, *surfaces: str) -> None:
    for surface in surfaces:
        for folded, spelled in surface_forms(surface):
            Word.objects.create(
                tenant=world.tenant,
                agent=world.agent,
                document=world.document,
                folded=folded,
                surface=spelled,
                count=1,
            )


def test_a_slip_is_read_alike_by_both_branches_and_the_trace_says_so(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo ücreti 35 TL'dir."])
    written(acme, "kargo", "ücreti")
    found = retrieve(acme.agent, "krago ücreti ne?")
    assert found.trace["question"] == "krago ücreti ne?"
    assert found.trace["slips"] == [{"typed": "krago", "meant": "kargo"}]
    assert found.trace["embedded"] == "kargo ücreti ne?"
    assert {root["root"]: root["df"] > 0 for root in found.trace["roots"]}["kargo"]


def test_capitals_and_a_slip_are_both_undone(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo ücreti 35 TL'dir."])
    written(acme, "kargo", "ücreti")
    assert retrieve(acme.agent, "KRAGO UCRETI").trace["embedded"] == "Kargo ücreti"


def test_a_question_without_slips_has_none_in_its_trace(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo ücreti 35 TL'dir."])
    written(acme, "kargo", "ücreti")
    assert "slips" not in retrieve(acme.agent, "Kargo ücreti ne?").trace


def test_a_replay_says_that_a_word_was_read_otherwise(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo ücreti 35 TL'dir."])
    before = retrieve(acme.agent, "krago ücreti ne?").trace
    written(acme, "kargo", "ücreti")
    said = compared(before, retrieve(acme.agent, "krago ücreti ne?")).differences
    assert any("slips" in line for line in said)


def test_words_are_counted_in_enabled_documents_of_the_agent_alone(
    acme: World, globex: World
) -> None:
    written(acme, "zürafa")
    assert Vocabulary(acme.agent).counts(["zurafa", "zurafaya"]) == {"zurafa": 1}
    assert set(Vocabulary(acme.agent).known(["zurafa", "zura-", "zebra"])) == {"zurafa", "zura-"}
    for other in (acme.other_agent, globex.agent):
        assert not Vocabulary(other).known(["zurafa"]) and not Vocabulary(other).counts(["zurafa"])
    documents.set_enabled(acme.document, False)
    assert not Vocabulary(acme.agent).known(["zurafa"])
