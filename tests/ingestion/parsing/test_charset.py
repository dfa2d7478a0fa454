"""Bytes of Turkish and other text become the text that was written."""

from __future__ import annotations

import pytest

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
