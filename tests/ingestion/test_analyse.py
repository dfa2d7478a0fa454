"""What the analyser must survive: every pair here is one thing, written two ways."""

from __future__ import annotations

import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import pytest

from ingestion.analyse import (
    Lexemes,
    Root,
    UnknownLanguage,
    analyse_passage,
    analyse_question,
    count_surface_forms,
    normalise,
    question_pairs,
    surface_forms,
    words_of,
)
from ingestion.analysis.turkish import turkish_stems


def present(root: Root, passage: Lexemes) -> bool:
    return bool({*root.stemmed} & {*passage.stemmed} or {*root.plain} & {*passage.plain})


def finds(question: str, passage: str, language: str = "tr") -> bool:
    """Every root of the question is present in the passage."""
    roots = analyse_question(question, language)
    lexemes = analyse_passage(passage, language)
    return bool(roots) and all(present(root, lexemes) for root in roots)


CODES = [
    ("35.000,50", "Limit 35.000,50 TL olarak belirlenmiştir."),
    ("35000,50", "Limit 35.000,50 TL olarak belirlenmiştir."),
    ("35000.5", "Limit 35.000,50 TL olarak belirlenmiştir."),
    ("35,000.50", "Limit 35.000,50 TL olarak belirlenmiştir."),
    ("35.000,50 TL", "Limit 35.000,50TL'dir."),
    ("35.000", "Tutar 35000 liradır."),
    ("35000 TL", "Tutar 35.000,00 TL'dir."),
    ("35.000'den", "Tutar 35000 liradır."),
    ("TR-1234", "Ürün kodu TR-1234 olan modem."),
    ("TR1234", "Ürün kodu TR-1234 olan modem."),
    ("tr 1234", "Ürün kodu TR-1234 olan modem."),
    ("TR-1234", "Ürün kodu TR1234 olan modem."),
    ("TR-1234", "Ürün kodu TR 1234 olan modem."),
    ("tr–1234", "Ürün kodu TR-1234'tür."),
    ("TR-1234'ü", "Ürün kodu TR-1234 olan modem."),
    ("destek@acme.com.tr", "Bize destek@acme.com.tr adresinden yazın."),
    ("DESTEK@ACME.COM.TR", "Bize destek@acme.com.tr. adresinden yazın."),
    ("acme.com.tr", "Bize destek@acme.com.tr adresinden yazın."),
    ("https://www.acme.com.tr/iade", "Koşullar: www.acme.com.tr/iade."),
    ("acme.com.tr/iade", "Koşullar: (https://acme.com.tr/iade)"),
    ("acme.com.tr", "Koşullar: https://acme.com.tr/iade?yil=2024#ust"),
    ("02124440555", "Telefon: 0 (212) 444 05 55"),
    ("+90 212 444 05 55", "Telefon: 0212 444 05 55"),
    ("0212 444 05 55", "Telefon: +90-212-444-05-55"),
    ("444 0 555", "Çağrı merkezi 444 0 555'tir."),
    ("4440555", "Çağrı merkezi 444 0 555'tir."),
    ("TR330006100519786457841326", "IBAN: TR33 0006 1005 1978 6457 8413 26"),
    ("tr33 0006 1005 1978 6457 8413 26", "IBAN: TR330006100519786457841326"),
    ("14:30", "Mağaza 14.30'da açılır."),
    ("14.30", "Mağaza 14:30'da açılır."),
    ("10:00-18:00", "Mağaza 10.00 ile 18.00 arasında açıktır."),
    ("09:00", "Mağaza 9.00'da açılır."),
    ("2023-2024", "2023 ve 2024 yılları"),
    ("2023", "2023–2024 eğitim yılı"),
    ("iphone15", "iPhone 15 modeli"),
    ("iphone 15", "iPhone15 modeli"),
    ("T.C", "T.C. kimlik numarası"),
    ("0850 222 0 555", "Bize 08502220555'ten ulaşın."),
    ("444 0 555", "Telefon: (0212) 444 0 555"),
    ("12/01/2015", "12.1.2015 tarihinde yürürlüğe girdi."),
    ("2015", "12.01.2015 tarihinde yürürlüğe girdi."),
    ("%18", "KDV oranı yüzde 18 olarak uygulanır."),
    ("1326da", "1326'da Bursa alındı."),
    ("1326'da", "Bursa 1326 yılında alındı."),
    ("35tl", "Kargo ücreti 35 TL'dir."),
    ("T.C.", "TC kimlik numarası"),
    ("tc", "T.C. kimlik numarası"),
    ("A.Ş.", "Acme A.Ş. mağazaları"),
    ("e-posta", "E-postanıza gelen kod"),
    ("eposta", "E-posta adresiniz"),
    ("wi-fi", "WIFI şifresi"),
    ("wifi", "Wi-Fi şifresi"),
    ("iban", "IBAN numaranız"),
    ("IBAN", "Iban numaranız"),
    ("IPHONE", "iPhone modelleri"),
    ("ankarada", "Ankara'da mağazamız var."),
    ("Ankara’da", "ANKARA'DA mağazamız var."),
    ("Iğdır'daki", "IĞDIR mağazası"),
    ("igdir", "IĞDIR mağazası"),
    ("eğitim-öğretim", "öğretim ve eğitim yılı"),
    ("ﬁyat", "Fiyat listesi"),
    ("s\u0327ikayet", "Şikâyet kaydı"),
]


@pytest.mark.parametrize(("question", "passage"), CODES)
def test_a_code_is_found_however_it_is_typed(question: str, passage: str) -> None:
    assert finds(question, passage)


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("TR-1234", "Ürün kodu TR-1235 olan modem."),
        ("TR-1234", "Ürün kodu 1234"),
        ("35.000,50", "Tutar 35.000,51 TL"),
        ("35,5", "Tutar 355 TL"),
        ("444 0 555", "444 0 556"),
        ("o", "Oda fiyatları"),
        ("oda", "O gelirse"),
        ("destek@acme.com.tr", "satis@acme.com.tr"),
        ("2015", "12.01.2016"),
        ("10:00", "Adet: 10"),
        ("TR-1234", "TR 12345"),
    ],
)
def test_two_different_things_stay_different(question: str, passage: str) -> None:
    assert not finds(question, passage)


@pytest.mark.parametrize("typed", ["SİPARİŞ", "SIPARIS", "Sipariş", "siparis", "sıparış"])
def test_case_and_diacritics_never_decide_whether_a_word_is_found(typed: str) -> None:
    assert finds(typed, "siparişlerim nerede")


@pytest.mark.parametrize(
    "unit",
    [
        "x",
        "a\u0301\u05b0\u0327",
        "\u0301\u05b0\u0327",
        "a@",
        "a.",
        "1.",
        "a-",
        "TR12",
        "123 ",
        "www.",
    ],
)
def test_a_hostile_text_of_100_000_letters_is_analysed(unit: str) -> None:
    text = unit * (100_000 // len(unit))
    lexemes = analyse_passage(text)
    assert sum(map(len, (*lexemes.stemmed, *lexemes.plain))) < 5_000
    assert len(analyse_question(text)) <= 32


def test_question_words_are_dropped_in_every_case() -> None:
    for question in ("mağaza kaçta açılır", "mağaza kaça kadar açık", "mağaza kaçtan kaça açık"):
        assert "kac" not in {stem for root in analyse_question(question) for stem in root.stemmed}


def test_stop_words_are_dropped_unless_nothing_else_is_left() -> None:
    assert [root.surface for root in analyse_question("İade nasıl yapılır?")] == ["İade", "yapılır"]
    assert [root.surface for root in analyse_question("Bu ne?")] == ["Bu", "ne"]


def test_roots_come_once_in_order_of_appearance_and_within_the_limit() -> None:
    roots = analyse_question("kargo ücreti, kargo takibi, iade süresi", limit=3)
    assert [root.surface for root in roots] == ["kargo", "ücreti", "takibi"]


def test_lexemes_are_sorted_unique_and_fit_postgresql() -> None:
    lexemes = analyse_passage("b a\x00b " + "ş" * 5_000 + " https://a.com/" + "y" * 1_900 + " b")
    for column in (lexemes.stemmed, lexemes.plain):
        assert list(column) == sorted(set(column))
        assert all(0 < len(lexeme.encode()) <= 255 and "\x00" not in lexeme for lexeme in column)


def test_an_english_word_is_found_as_typed_by_a_turkish_agent() -> None:
    assert finds("refund policy", "Our Refund Policy applies", "tr")
    assert finds("iade kosulları", "İade Kosulları geçerlidir", "en")


def test_other_languages_use_their_own_stemmer() -> None:
    assert finds("bookings", "Your booking is confirmed", "en")
    assert finds("bucher", "Das Buch", "de") and finds("Bücher", "das Buch", "de")
    assert finds("l'eau", "De l’eau fraîche", "fr")
    assert finds("книги", "О книгах", "ru")


def test_an_unknown_language_is_refused_by_name() -> None:
    with pytest.raises(UnknownLanguage, match="'xx'"):
        analyse_passage("metin", "xx")
    with pytest.raises(UnknownLanguage):
        analyse_question("", "xx")


@pytest.mark.parametrize("text", ["", "   ", "?!…", "\x00", "'", "--", "🙂"])
def test_a_text_without_words_has_no_lexemes(text: str) -> None:
    assert analyse_passage(text) == Lexemes((), ())
    assert analyse_question(text) == ()


def test_surface_forms_keep_diacritics_and_leave_capitals_out() -> None:
    pairs = list(surface_forms("Iğdır'ın SIPARIS güzel Şubesi TR-1234", "tr"))
    words = [pair for pair in pairs if not pair[0].endswith("-")]
    assert words == [("igdir", "ığdır"), ("guzel", "güzel"), ("subesi", "şubesi")]


def test_surface_forms_hold_the_beginnings_of_turkish_words() -> None:
    assert list(surface_forms("Şube", "tr")) == [
        ("sube", "şube"),
        ("sub-", "şub"),
        ("sube-", "şube"),
    ]
    assert list(surface_forms("Café", "fr")) == [("cafe", "café")]


def test_surface_forms_are_counted_as_they_are_yielded() -> None:
    texts = ["Iğdır'ın SIPARIS güzel Şubesi TR-1234", "Güzel e-posta, güzel ev; GÜZEL şube", ""]
    yielded = Counter(pair for text in texts for pair in surface_forms(text, "tr"))
    words = Counter(word for text in texts for word in words_of(text))
    counted = count_surface_forms(words, "tr")
    assert list(counted.items()) == list(yielded.items())
    assert counted["guzel", "güzel"] == 3


def test_words_before_any_sign_are_the_same_token() -> None:
    for sign in [" ", ", ", "; ", ". ", "! ", "\n", "/", "'", "-", ""]:
        (lexemes,) = {analyse_passage(f"iade{sign}").plain}
        assert lexemes == ("iade",)


def test_normalised_texts_are_equal_when_only_case_spacing_and_punctuation_differ() -> None:
    assert normalise("Ankara’da  İADE,\nvar!") == normalise("ankara'da iade var")
    assert normalise("iade var") != normalise("iade yok")


def test_a_pair_is_two_meaningful_neighbours_in_either_order() -> None:
    passage = analyse_passage("Kartın kredisi ile TR-1234 kodunun fiyatı")
    pairs = question_pairs("Kredi kartı nedir? Kodunuzun TR-1234'ü, fiyatı")
    assert [pair.surface for pair in pairs] == [
        "Kredi kartı",
        "kartı Kodunuzun",
        "Kodunuzun TR-1234'ü",
        "TR-1234'ü fiyatı",
    ]
    assert [present(pair, passage) for pair in pairs] == [True, False, True, False]
    assert all(0 < pair.weight < 1 for pair in pairs)


def test_a_question_gives_a_bounded_number_of_pairs() -> None:
    assert len(question_pairs("kargo " * 3 + "iade " * 3 + "a b c d", limit=2)) == 2


def test_threads_do_not_disturb_each_other() -> None:
    words = [
        "".join(letters) + "lerimizdeki" for letters in product("bcdfgk", "aeo", "lmnrst", "ae")
    ]
    alone = [turkish_stems(word) for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(turkish_stems, words))
    finally:
        sys.setswitchinterval(interval)
    assert together == alone
