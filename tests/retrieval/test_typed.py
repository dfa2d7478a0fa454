"""Questions as people type them are respelled the way the documents write; others are untouched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import pytest

from ingestion.analyse import surface_forms
from retrieval.typed import restore

DOCUMENTS = """
Siparişlerinizi hesabım sayfasından iptal edebilirsiniz. Kargo ücreti 35 TL'dir. İade süresi
on dört gündür; ürünü mağazamıza getirin. Kredi kartı ile ödeme yapabilirsiniz. Şifrenizi
unuttuysanız bağlantıya tıklayın. Ankara'da ve İstanbul'da şubemiz var. Yükseltme ücretsizdir.
IBAN numaranız hesap bilgilerinizdedir. Lira cinsinden ödersiniz. Acme şirketi.
"""


def vocabulary() -> dict[str, str]:
    counts: dict[str, Counter[str]] = {}
    for folded, surface in surface_forms(DOCUMENTS, "tr"):
        counts.setdefault(folded, Counter())[surface] += 1
    return {folded: seen.most_common(1)[0][0] for folded, seen in counts.items()}


VOCABULARY = vocabulary()


def lookup(folded: Sequence[str]) -> Mapping[str, str]:
    return {form: VOCABULARY[form] for form in folded if form in VOCABULARY}


@pytest.mark.parametrize(
    ("typed", "restored"),
    [
        ("Siparisimi nasil iptal ederim?", "Siparişimi nasıl iptal ederim?"),
        ("kargo ucreti ne kadar", "kargo ücreti ne kadar"),
        ("iade suresi kac gun?", "iade süresi kaç gün?"),
        ("Kredi karti ile odeyebilir miyim?", "Kredi kartı ile ödeyebilir miyim?"),
        ("magazaniz acik mi", "mağazanız açık mı"),
        ("Istanbul'daki magazaniz", "İstanbul'daki mağazanız"),
        ("hesabimi yukseltebilir miyim", "hesabımı yükseltebilir miyim"),
        ("magazanin adresi", "mağazanın adresi"),
        ("IBAN numarasi degismis mi", "IBAN numarası değişmiş mi"),
        ("TR-1234 kodlu urun, destek@acme.com.tr", "TR-1234 kodlu ürün, destek@acme.com.tr"),
        ("“hesabim” sayfasi", "“hesabım” sayfası"),
    ],
)
def test_a_question_without_diacritics_gets_them_back(typed: str, restored: str) -> None:
    assert restore(typed, lookup) == restored


@pytest.mark.parametrize(
    ("typed", "restored"),
    [
        ("SİPARİŞİMİ NASIL İPTAL EDERİM?", "Siparişimi nasıl iptal ederim?"),
        ("SIPARISIMI NASIL IPTAL EDERIM?", "Siparişimi nasıl iptal ederim?"),
        ("SIPARIŞIMI NASIL IPTAL EDERIM?", "Siparişimi nasıl iptal ederim?"),
        ("KARGO ÜCRETI KAÇ LIRA", "Kargo ücreti kaç lira"),
        ("IADE SURESI", "İade süresi"),
        ("ANKARA’DAKI SUBENIZ", "Ankara’daki şubeniz"),
        ("TR-1234 KODLU ÜRÜNÜN ÜCRETİ", "TR-1234 kodlu ürünün ücreti"),
    ],
)
def test_a_question_in_capitals_is_lowered_by_turkish_or_english_casing(
    typed: str, restored: str
) -> None:
    assert restore(typed, lookup) == restored


@pytest.mark.parametrize(
    "typed",
    [
        "Siparişimi nasil iptal ederim?",
        "Kredi kartı ile ödeme",
        "Ankara'da magaza var mı?",
        "iade",
        "IBAN nedir?",
        "IBAN",
        "TR-1234",
        "II. Murat kimdir?",
        "Upgrade nedir?",
        "Sirkeci nerede?",
        "What is the kargo ucreti?",
        "Where is my siparis",
        "",
        "?!",
        "1234 5678",
    ],
)
def test_a_question_typed_properly_is_the_same_string(typed: str) -> None:
    assert restore(typed, lookup) == typed


def test_english_needs_no_diacritics_but_is_lowered_when_shouted() -> None:
    assert restore("cafe opening hours", lambda _: {"cafe": "café"}, "en") == "cafe opening hours"
    assert restore("OPENING HOURS", lambda _: {}, "en") == "Opening hours"


def test_an_english_question_in_capitals_is_lowered_by_english_casing() -> None:
    assert restore("WHERE IS MY SIPARIS", lookup) == "where is my siparis"


def test_another_language_is_respelled_from_its_own_words() -> None:
    known = {"offnungszeiten": "öffnungszeiten", "strasse": "straße"}
    assert (
        restore("Offnungszeiten Hauptplatz", lambda _: known, "de") == "Öffnungszeiten Hauptplatz"
    )


def test_the_vocabulary_is_asked_once_and_only_when_the_question_is_typed_so() -> None:
    asked: list[Sequence[str]] = []

    def recording(folded: Sequence[str]) -> Mapping[str, str]:
        asked.append(folded)
        return {}

    restore("Siparişim nerede?", recording)
    assert asked == []
    restore("siparisim nerede", recording)
    assert len(asked) == 1
    assert {"siparisim", "nerede", "sip-", "sipa", "sipari-"} <= set(asked[0])


def test_a_hostile_question_is_answered_in_bounded_lookups() -> None:
    asked: list[Sequence[str]] = []

    def recording(folded: Sequence[str]) -> Mapping[str, str]:
        asked.append(folded)
        return {}

    text = "x" * 20_000
    assert restore(text, recording) == text
    assert len(asked[0]) < 100


def test_a_short_word_is_no_proof_that_a_question_lacks_its_diacritics() -> None:
    held = {"on": "ön", "adet": "adet"}
    question = "On adet alsam olur mu?"
    assert restore(question, lambda forms: {f: held[f] for f in forms if f in held}) is question
    assert restore("kac gun", lambda forms: {}) == "kaç gün"
