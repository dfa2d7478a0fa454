"""A word that no document holds is read as the one that was meant, and only if that is sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import pytest
from django.db import DatabaseError, transaction

from ingestion import documents
from ingestion.analyse import Root, analyse_passage, analyse_question, surface_forms
from ingestion.models import Word, serving_index
from retrieval.prepared import Prepared
from retrieval.replay import compared
from retrieval.retrieve import retrieve
from retrieval.slips import put_right, slips_in
from retrieval.vocabulary import Held, Vocabulary
from tests.factories import World, make_document

DOCUMENTS = """
Siparişlerinizi hesabım sayfasından iptal edebilirsiniz. Kargo ücretsizdir, kargolar ertesi gün yola
çıkar. Garanti süresi iki yıldır. Elli rengi vardır, metin yazılır. Taksidim neden görünmüyor?
Sorular müşteri hizmetlerine sorulur. Soruları yanıtlarız.
"""


class Documents:
    """What documents of this text hold; it counts how often it is asked."""

    def __init__(self, text: str) -> None:
        self.asked = 0
        self.words: dict[str, Counter[str]] = {}
        for folded, surface in surface_forms(text):
            self.words.setdefault(folded, Counter())[surface] += 1
        self.lexemes = analyse_passage(text)

    def known(self, folded: Collection[str]) -> Collection[str]:
        self.asked += 1
        return self.words.keys() & folded

    def held(self, folded: Collection[str]) -> Mapping[str, Held]:
        return {
            form: Held(form, self.words[form].most_common(1)[0][0], self.words[form].total())
            for form in self.known(folded)
        }

    def found(self, roots: Sequence[Root]) -> Sequence[bool]:
        stemmed, plain = set(self.lexemes.stemmed), set(self.lexemes.plain)
        return [bool(stemmed & {*root.stemmed} or plain & {*root.plain}) for root in roots]


def read(question: str, text: str = DOCUMENTS, language: str = "tr") -> str:
    return put_right(question, slips_in(question, Documents(text), language), language)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("krago ne kadar?", "kargo ne kadar?"),
        ("Krago ücreti", "Kargo ücreti"),
        ("KRAGO UCRETI NE", "KARGO UCRETI NE"),
        ("MÜŞETRİ HİZMETLERİ", "MÜŞTERİ HİZMETLERİ"),
        ("kaargo bedava mı", "kargo bedava mı"),
        ("karggo  süersi kaç yıl…", "kargo  süresi kaç yıl…"),
        ("müşetri hizmetleri", "müşteri hizmetleri"),
        ("musetri hizmetleri", "musteri hizmetleri"),  # its diacritics come back later
        ("krago'nun süresi", "kargo'nun süresi"),
        ("krago kıralı Krago KRAGO", "kargo kıralı Kargo KRAGO"),
    ],
)
def test_swapped_and_doubled_letters_are_put_right(typed: str, meant: str) -> None:
    assert read(typed) == meant


@pytest.mark.parametrize(
    ("question", "documents"),
    [
        ("Kargo ne kadar sürer?", DOCUMENTS),  # nothing unknown
        ("metni nerede", "metin"),  # of `metin`: the last two letters change places in Turkish
        ("taşıdım ama görünmüyor", "taksidim"),  # an added letter makes another word
        ("maç bittim", "bitim"),
        ("haklı mıyım", "halkı"),  # two consonants swapped are another word too often
        ("hakli miyim", "halki"),
        ("Erkan Bey nerede", "ekran"),
        ("bassın mı", "basın"),
        ("saatin pili", "satın"),
        ("şiirin adı", "şirin"),
        ("gaaranti süresi", "garanti"),
        ("aracımı sattım", "alım satım"),
        ("sattım onu", "satım, satıyoruz"),
        ("Bıktım bu hatadan", "bitkim"),  # the diacritic tells them apart
        ("uzman baksa olur mu, ş", "başka"),
        ("belli olur mu", "beli"),  # too short to be sure of
        ("karg ne kadar", "kargo"),
        ("akrgo ne kadar", "kargo"),  # the first letter is taken to be right
        ("siparişlerniizi iptal", "siparişlerinizi"),  # found by its beginning
        ("kodum BTRAY mi", "btary"),  # an acronym
        ("iPohne kılıfı", "iphone"),
        ("krago@acme.com @krago my_krago acme.store/krago", "kargo"),
        ("Kargo'nun gaarntsii", DOCUMENTS),  # two slips in one word
        ("strassse weiß", "strasse weis"),
        ("", DOCUMENTS),
    ],
)
def test_what_may_be_a_word_is_left_as_typed(question: str, documents: str) -> None:
    assert read(question, documents) is question


def test_a_word_that_a_passage_holds_in_capitals_is_no_slip() -> None:
    assert read("kodu btray mi", "btary kodu") == "kodu btary mi"
    assert read("kodu btray mi", "btary kodu BTRAY") == "kodu btray mi"


def test_other_languages_are_left_alone() -> None:
    assert read("free trial", "trail", "en") == "free trial"


def test_many_unknown_words_are_another_language() -> None:
    assert read("krago please") == "kargo please"
    assert read("krago Krago krago KRAGO please") == "kargo Kargo kargo KRAGO please"
    assert read("krago please refund order quickly") == "krago please refund order quickly"


def test_the_word_that_most_documents_hold_was_meant() -> None:
    assert read("kraogu", "karogu kragou kragou") == "kragou"
    assert read("kraogu", "karogu karogu kragou") == "karogu"
    assert read("kraogu", "kragou karogu") == "karogu"


def test_the_documents_are_asked_once_where_no_word_is_unknown() -> None:
    held = Documents(DOCUMENTS)
    assert slips_in("Kargo süresi nedir, garanti var mı?", held) == ()
    assert held.asked == 1


def test_an_endless_word_is_no_slip() -> None:
    held = Documents(DOCUMENTS)
    assert slips_in("ab" * 900, held) == () and held.asked <= 1


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
    assert retrieve(acme.agent, "Kargo ücreti ne?").trace["slips"] == []


def test_a_replay_says_that_a_word_was_read_otherwise(acme: World) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo ücreti 35 TL'dir."])
    before = retrieve(acme.agent, "krago ücreti ne?").trace
    written(acme, "kargo", "ücreti")
    said = compared(before, retrieve(acme.agent, "krago ücreti ne?")).differences
    assert "Slips put right were none, and are krago read as kargo." in said


def test_a_trace_from_before_there_were_slips_is_replayed_without_a_word_about_them(
    acme: World,
) -> None:
    make_document(acme.agent, "kargo.md", ["Kargo ücreti 35 TL'dir."])
    now = retrieve(acme.agent, "Kargo ücreti ne?")
    old = {name: value for name, value in now.trace.items() if name != "slips"}
    assert compared(old, now).differences == ()


def of(world: World) -> Vocabulary:
    index = serving_index(world.agent)
    assert index
    return Vocabulary(index)


def test_words_are_known_from_enabled_documents_of_the_agent_alone(
    acme: World, globex: World
) -> None:
    written(acme, "zürafa")
    assert of(acme).held(["zurafa", "zurafaya"]) == {"zurafa": Held("zurafa", "zürafa", 1)}
    assert set(of(acme).known(["zurafa", "zura-", "zebra"])) == {"zurafa", "zura-"}
    assert not of(globex).known(["zurafa"]) and not of(globex).held(["zurafa"])
    documents.set_enabled(acme.document, False)
    assert not of(acme).known(["zurafa"])


def test_roots_are_found_in_enabled_passages_of_the_index_alone(acme: World, globex: World) -> None:
    document = make_document(acme.agent, "hayvan.md", ["Zürafalar 35 kilo yer."])
    roots = [*analyse_question("zürafayı"), *analyse_question("35"), *analyse_question("fil")]
    assert of(acme).found(roots) == [True, True, False]
    assert of(acme).found([]) == []
    assert of(globex).found(roots)[0] is False
    documents.set_enabled(document, False)
    assert of(acme).found(roots)[0] is False


def test_a_prepared_statement_fails_as_the_orm_does(acme: World) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        Prepared.of("SELECT 1 / %(zero)s::int").rows({"zero": 0})
