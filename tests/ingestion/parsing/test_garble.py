"""Garbled text is recognised, and good text of many languages is not taken for it."""

from __future__ import annotations

import pytest

from ingestion.parsing import GarbledText, parse
from ingestion.parsing.garble import THRESHOLD, garble_ratio

GOOD = {
    "Turkish": "Siparişiniz üç iş günü içinde kargoya verilir; ağır ürünler için randevu alınır. "
    "İade süresi otuz gündür ve ücretsizdir. Hâlâ sorunuz varsa bize yazın.",
    "English": "You can return unused items within thirty days; lengthy queues aside.",
    "German": "Die Rückgabe großer Geräte ist in dreißig Tagen möglich, Angstschweiß.",
    "Czech": "Zboží můžete vrátit do třiceti dnů, příliš žluťoučký kůň úpěl ďábelské ódy.",
    "Icelandic": "Þú getur skilað vörunni innan þrjátíu daga, ef þú hefur kvittunina með þér.",
    "French": "Où est ma commande ? Elle arrive bientôt, à Noël peut-être : 12 € déjà payés.",
    "codes": "TR-1234 XKCD-77 IBAN TR33 0006 1005 1978 6457, HTTPS ve XHTML, 35.000,50 TL",
    "address": "Bakınız https://kumbara.example/ara?q=iade&s=2 ve www.kumbara.example/ürün?id=5",
    "drawn table": "┌─────┬──────┐\n│İade │14 gün│\n├─────┼──────┤\n│Ücret│Yok   │\n└─────┴──────┘",
    "drawn tree": "├──Ürün\n│  ├──Şube\n│  └─İade\n├Ücret\n",
    "drawn box": "┌─Başlık─┐\n│Metin│\n╚═Son═╝\n║İade║Şube║",
    "question": "Kargom nerede?Ne zaman gelir? Bilmiyorum. Ücret 49,90 TL ya da 59,90 TL olur.",
}
TURKISH = GOOD["Turkish"]
ENGLISH = GOOD["English"] * 2
LETTERS = "abcdefghijklmnopqrstuvwxyz"


@pytest.mark.parametrize("name", GOOD)
def test_good_text_stays_well_under_the_threshold(name: str) -> None:
    assert garble_ratio(GOOD[name]) < THRESHOLD / 2


@pytest.mark.parametrize(
    "garbled",
    [
        TURKISH.encode().decode("cp1252", "replace"),
        TURKISH.encode().decode("cp1254", "replace"),
        TURKISH.encode("cp1254").decode("cp1252"),
        TURKISH.encode("cp1254").decode("utf-8", "replace"),
        TURKISH.encode("ascii", "replace").decode(),
        TURKISH.encode().decode("cp857", "replace"),
        TURKISH.encode().decode("cp437"),
        TURKISH.encode("cp1254").decode("cp437"),
        "".join(chr(ord(c) - 29) if "a" <= c <= "z" else c for c in ENGLISH),
        ENGLISH.translate(str.maketrans(LETTERS, LETTERS[3:] + LETTERS[:3])),
        "".join(chr(0xE000 + ord(c) % 256) for c in TURKISH),
    ],
    ids=[
        "utf-8 as windows-1252",
        "utf-8 as windows-1254",
        "windows-1254 as windows-1252",
        "windows-1254 as utf-8",
        "letters lost",
        "utf-8 as cp857",
        "utf-8 as cp437",
        "windows-1254 as cp437",
        "glyph numbers for letters",
        "a shifted font",
        "private use",
    ],
)
def test_garbled_text_is_over_the_threshold(garbled: str) -> None:
    assert garble_ratio(garbled) > THRESHOLD


def test_one_garbled_word_in_a_page_does_not_refuse_it() -> None:
    text = f"{TURKISH} {TURKISH} Eski sayfada sipariÅŸ yazıyordu. {TURKISH}"

    assert 0 < garble_ratio(text) < THRESHOLD


def test_a_garbled_file_is_refused_with_its_report() -> None:
    data = (TURKISH.encode().decode("cp1252", "replace") * 3).encode()

    with pytest.raises(GarbledText) as caught:
        parse(data, "bozuk.txt")

    assert caught.value.code == "garbled_text"
    assert caught.value.context["report"]["garble_ratio"] > THRESHOLD


def test_an_empty_text_has_no_garble() -> None:
    assert garble_ratio(" \n ") == 0.0


def test_a_long_text_without_blanks_is_measured_in_linear_time() -> None:
    assert garble_ratio("a@" * 1_000_000) < THRESHOLD
