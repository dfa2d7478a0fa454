"""Two forms of one Turkish word find each other, in either direction and however they are typed."""

from __future__ import annotations

import pytest

from ingestion.analyse import Lexemes, Root, analyse_passage, analyse_question

ONE_WORD = """
    iadesi iade; iadesini iade; iadeler iade; iadelerim iade; iadelerinizi iade; odası oda;
    odaları oda; odanın oda; sırası sıra; süresi süre; sürede süre; sürelerde süre; ücreti ücret;
    ücretler ücret; ücretleri ücretler; kargosu kargo; kargonun kargo; kargoya kargo;
    kargomun kargo; siparişim sipariş; siparişlerimi sipariş; siparişinizin sipariş;
    siparişler siparişim; kartı kart; kartımı kart; kartlar kart; kartınız kart;
    kartlarımın kart; hesabı hesap; hesabım hesap; hesabımdan hesap; hesaplar hesap;
    kitabı kitap; kitaplar kitap; kitapçı kitapçılar; ürünü ürün; ürünler ürün; ürünlerin ürün;
    ürünümüz ürün; mağazası mağaza; mağazada mağaza; mağazalar mağaza; mağazalarınızda mağaza;
    şubesi şube; şubeler şube; şubenizde şube; adresi adres; adresim adres; adreslerine adres;
    şifremi şifre; şifresi şifre; şifreler şifre; faturası fatura; faturamı fatura;
    faturalar fatura; garantisi garanti; garantiler garanti; ödemesi ödeme; ödemeler ödeme;
    ödemelerimi ödeme; taksidi taksit; taksitler taksit; taksitli taksitlidir; rengini renk;
    renkler renk; ayağı ayak; ayaklar ayak; çocuğu çocuk; çocuklar çocuk;
    köpeğim köpek; yüksekliği yükseklik; kalitesi kalite; telefonu telefon; telefonlar telefon;
    telefonumdan telefon; numarası numara; numaramı numara; numaralar numara; evler ev; evde ev;
    evim ev; evden ev; gözler göz; gözüm göz; gözlüğü gözlük; gözlükler gözlük; günler gün;
    günde gün; aylık aylıktır; yıllar yıl; yılında yıl; arabam araba; arabası araba;
    arabalar araba; masası masa; masalar masa; kutusu kutu; kutular kutu; kutunun kutu;
    soruları soru; sorum soru; sorusu soru; kapısı kapı; kapılar kapı; iptali iptal;
    iptaller iptal; indirimi indirim; indirimler indirim; kampanyası kampanya;
    kampanyalar kampanya; bedeni beden; bedenler beden; değişimi değişim; değişimler değişim;
    müşterisi müşteri; müşteriler müşteri; müşterilerimiz müşteri; yetkilisi yetkili;
    yetkililer yetkili; öğrencisi öğrenci; öğrenciler öğrenci; öğrencilere öğrenci;
    sözleşmesi sözleşme; sözleşmeler sözleşme; teslimatı teslimat; teslimatlar teslimat;
    iletişimde iletişim; güvenliği güvenlik; geliyor geldi; gelecek geldi; geldi gelmiş;
    yapabilirim yapmak; yapılır yapılmak; yapılacak yapılır; ödeyebilirim ödemek; ödedim ödemek;
    öderim ödedim; edebilirim edebilir; gönderdim göndermek; gönderiyorum göndermek;
    gönderilecek gönderilir; değiştirebilirim değiştirme; değiştirmek değiştirme;
    kullanıyorum kullanım; kullanılır kullanmak; açılıyor açılış; açılır açılıyor;
    kapatıyorum kapatmak; güncelledim güncelleme; doğmuştur doğdu; başvurabilirim başvuru;
    başvurunun başvuru; Ankara'da Ankara; İzmir'den İzmir; İstanbul'daki İstanbul;
    Türkiye'nin Türkiye; Acme'nin Acme; Ankarada Ankara; Iğdır'a ığdır; İNTERNET internet;
    ısı ISI; ILICA ılıca; ilk İLK; kâr kar; hâlâ hala
"""
PAIRS = [tuple(pair.split()) for pair in ONE_WORD.split(";")]

APART = [
    ("oda", "o"), ("kartı", "kar"), ("iade", "ada"), ("adres", "ada"), ("gün", "güneş"),
    ("yol", "yolcu"), ("ev", "evrak"), ("sürü", "süre"), ("kod", "kodak"), ("banka", "bank"),
    ("sat", "saat"), ("kutu", "kut"), ("dil", "dilekçe"), ("sıra", "sır"), ("para", "parça"),
]  # fmt: skip


def present(root: Root, passage: Lexemes) -> bool:
    return bool({*root.stemmed} & {*passage.stemmed} or {*root.plain} & {*passage.plain})


def finds(question: str, passage: str) -> bool:
    lexemes = analyse_passage(passage)
    roots = analyse_question(question)
    return bool(roots) and all(present(root, lexemes) for root in roots)


def without_diacritics(text: str) -> str:
    return text.translate(str.maketrans("şŞıİğĞüÜöÖçÇâÂ", "sSiIgGuUoOcCaA"))


def turkish_capitals(text: str) -> str:
    return text.replace("i", "İ").upper()


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_forms_of_a_word_find_each_other(one: str, other: str) -> None:
    assert finds(one, other)
    assert finds(other, one)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_a_form_is_found_as_people_type_it(one: str, other: str) -> None:
    for typed in (turkish_capitals(one), one.upper(), one.replace("'", ""), one.replace("'", "’")):
        assert finds(typed, other), typed


@pytest.mark.parametrize("word", sorted({word for pair in PAIRS for word in pair}))
def test_the_lexical_branch_loses_nothing_without_diacritics(word: str) -> None:
    assert finds(without_diacritics(word), word)
    assert finds(word, without_diacritics(word))
    assert finds(without_diacritics(word).upper(), word)


@pytest.mark.parametrize(("one", "other"), APART)
def test_two_words_stay_apart(one: str, other: str) -> None:
    assert not finds(one, other)
    assert not finds(other, one)


def test_every_lexeme_of_a_turkish_text_is_folded() -> None:
    lexemes = analyse_passage("ŞİİR, ığdır, ÇÖĞÜŞ, kâğıt, IŞIK, İĞNE: Ankara'nın")
    assert all(lexeme.isascii() and lexeme == lexeme.lower() for lexeme in lexemes.stemmed)
    assert all(lexeme.isascii() and lexeme == lexeme.lower() for lexeme in lexemes.plain)
