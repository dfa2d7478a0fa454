"""Bytes of Turkish and other text become the text that was written."""

from __future__ import annotations

import pytest

from ingestion.parsing import parse
from ingestion.parsing.charset import decode

TURKISH = "Şubemiz pazartesi günü açılır; ağır ürünler için İzmir’e “özel” araç gider. Iğdır hariç."
PLAIN = TURKISH.replace("’", "'").replace("“", '"').replace("”", '"')


@pytest.mark.parametrize(
    ("encoding", "text", "charset"),
    [
        ("utf-8", TURKISH, "utf-8"),
        ("utf-8-sig", TURKISH, "utf-8"),
        ("utf-16", TURKISH, "utf-16-le"),
        ("utf-16-le", TURKISH, "utf-16-le"),
        ("utf-16-be", TURKISH, "utf-16-be"),
        ("cp1254", TURKISH, "windows-1254"),
        ("iso8859-9", PLAIN, "windows-1254"),
        ("cp857", PLAIN, "cp857"),
        ("mac_turkish", PLAIN, "mac-turkish"),
        ("cp1252", "Größe und Maß: 12 € für Übergrößen, façade déjà vu", "windows-1254"),
    ],
)
def test_text_is_decoded_from(encoding: str, text: str, charset: str) -> None:
    assert decode(text.encode(encoding)) == (text, charset)


def test_cyrillic_text_is_recognised_without_a_declaration() -> None:
    text = "Доставка по всей стране занимает от двух до пяти рабочих дней после оплаты заказа. " * 3

    assert decode(text.encode("cp1251"))[0] == text


def test_a_declared_charset_is_used_when_the_bytes_fit_it() -> None:
    assert decode("Größe".encode("cp1252"), "iso-8859-1") == ("Größe", "windows-1252")
    assert decode("İade".encode("cp1254"), "ISO-8859-9") == ("İade", "windows-1254")


def test_valid_utf8_beats_a_wrong_declaration() -> None:
    assert decode("Ücretsiz iade".encode(), "iso-8859-9") == ("Ücretsiz iade", "utf-8")


def test_an_unknown_declaration_is_ignored() -> None:
    assert decode("Ücretsiz sipariş".encode("cp1254"), "klingon")[0] == "Ücretsiz sipariş"


def test_a_few_broken_bytes_in_utf8_do_not_change_the_charset() -> None:
    text, charset = decode("ğüşıöç ".encode() * 10 + b"\xff" + b" son")

    assert charset == "utf-8"
    assert text.count("\ufffd") == 1


@pytest.mark.parametrize("nuls", [b"\0", b"\0" * 4096])
def test_a_nul_does_not_change_the_charset_of_utf8(nuls: bytes) -> None:
    assert decode(TURKISH.encode() + nuls) == (TURKISH + nuls.decode(), "utf-8")


@pytest.mark.parametrize(
    "text",
    [
        "Ad;Not\nAli;bekleyin… geliyor\nVeli;tamam\n",
        "Price 10–20 TL",
        "Marka™ iyi",
        "12 €\n15 €\n",
        "Price is “quoted”",
    ],
)
def test_a_sign_of_windows_is_no_letter_of_ms_dos(text: str) -> None:
    assert decode(text.encode("cp1254")) == (text, "windows-1254")


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.csv", "a.html", "a.json"])
def test_nuls_are_left_out_of_a_file_and_that_is_said(name: str) -> None:
    texts = {
        "a.csv": "Ad;Not\nAli;Şiş\0li\nVeli;ığdır\n",
        "a.html": "<html><body><p>Şişli\0 ığdır çünkü</p></body></html>",
        "a.json": '[{"soru": "Şiş\0li ne?", "cevap": "ığdır"}]',
    }
    parsed = parse(texts.get(name, "Şişli\0 ığdır çünkü").encode(), name)

    assert "Şişli" in "".join(block.all_text() for block in parsed.blocks)
    assert parsed.report.charset == "utf-8"
    assert parsed.report.warnings == ("Damaged characters (NUL) were left out: 1.",)


def test_an_emoji_written_in_halves_is_made_whole_and_a_half_alone_is_dropped() -> None:
    halves = "Şişli \ud83d\ude00 ığdır \ud83d!".encode("utf-8", "surrogatepass")

    assert decode(halves) == ("Şişli 😀 ığdır !", "utf-8")
