"""What a file is, is decided by its bytes; its name only tells kinds of text apart."""

from __future__ import annotations

import pytest

from ingestion.parsing import (
    EmptyFile,
    PasswordProtected,
    UnsupportedMediaType,
    detect_media_type,
    media_type,
)

from .golden import DOCUMENTS, files

KINDS = {
    "text": media_type.TEXT,
    "markdown": media_type.MARKDOWN,
    "html": media_type.HTML,
    "pdf": media_type.PDF,
    "docx": media_type.DOCX,
    "xlsx": media_type.XLSX,
    "csv": media_type.CSV,
    "pptx": media_type.PPTX,
    "odt": media_type.ODT,
    "rtf": media_type.RTF,
    "epub": media_type.EPUB,
    "eml": media_type.EML,
    "json": media_type.JSON,
    "zip": media_type.ZIP,
}


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_a_real_file_is_recognised(path) -> None:
    assert detect_media_type(path.read_bytes(), path.name) == KINDS[path.parent.name]


@pytest.mark.parametrize("kind", ["html", "pdf", "docx", "xlsx", "pptx", "odt", "rtf", "epub"])
def test_a_wrong_name_does_not_mislead(kind: str) -> None:
    for path in (p for p in files() if p.parent.name == kind):
        assert detect_media_type(path.read_bytes(), "adı.txt") == KINDS[kind]
        assert detect_media_type(path.read_bytes(), "adı.pdf") == KINDS[kind]


@pytest.mark.parametrize("data", [b"", b"\n \t", b"\xef\xbb\xbf\r\n", b"\0\0\0\0"])
def test_an_empty_file_is_refused(data: bytes) -> None:
    with pytest.raises(EmptyFile):
        detect_media_type(data, "boş.txt")


@pytest.mark.parametrize(
    "data",
    [
        b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4,
        b"\xff\xd8\xff\xe0" + bytes(range(256)) * 4,
        b"MZ\x90\0\x03\0\0\0" + bytes(range(256)) * 4,
        bytes(range(256)) * 8,
        b"text and then\0\0\x01\x02\x03" * 20,
    ],
)
def test_binary_named_as_text_is_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedMediaType):
        detect_media_type(data, "notlar.txt")


def test_an_old_word_file_is_refused_with_the_way_out() -> None:
    with pytest.raises(UnsupportedMediaType, match="DOCX"):
        detect_media_type(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600, "eski.doc")


def test_an_encrypted_office_file_asks_for_the_password_to_be_removed() -> None:
    container = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 600
    with pytest.raises(PasswordProtected):
        detect_media_type(container + "EncryptedPackage".encode("utf-16-le"), "gizli.docx")


def test_a_spreadsheet_in_open_document_format_is_refused() -> None:
    import io
    import zipfile

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
    with pytest.raises(UnsupportedMediaType, match="OpenDocument"):
        detect_media_type(buffer.getvalue(), "tablo.ods")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# Başlık\n\nBir [bağlantı](https://kumbara.example) var.", media_type.MARKDOWN),
        ("Düz bir metin, yıldız * ve diyez # ile.", media_type.TEXT),
        ("<p>Bir</p><p>İki</p><div>Üç</div>", media_type.HTML),
        ("<!-- not --><!DOCTYPE html><p>x", media_type.HTML),
        ('[{"soru": "a", "cevap": "b"}]', media_type.JSON),
        ("[1] Kaynakça\n", media_type.TEXT),
        ("From: a@b.example\nTo: c@d.example\nSubject: x\n\nMerhaba", media_type.EML),
        ("Konu: teslimat\nTarih: bugün\n\nMerhaba", media_type.TEXT),
        ("sep=;\na;b\n1;2", media_type.CSV),
    ],
)
def test_text_without_a_name_is_told_apart_by_its_content(text: str, expected: str) -> None:
    assert detect_media_type(text.encode()) == expected


def test_the_documents_folder_is_where_the_tests_expect_it() -> None:
    assert (DOCUMENTS / "refused").is_dir()


LARGE = 2_000_000  # of these, one that is read more than once would not end


@pytest.mark.parametrize(
    ("piece", "end"),
    [
        ("<!--x-->\n", "<p>iade</p>"),
        ("<!--x", ""),
        ("<?xml ", ""),
        ("<p ", ""),
        ("<p a=<", ""),
        ("[", ""),
        ("[a](", ""),
        ("[a](b", ""),
        ("||\n", "|x"),
        (" |", "x"),
        ("**a", "\n"),
        (" ", "x"),
        ("a:\n", ""),
    ],
)
def test_a_text_that_repeats_itself_without_end_is_plain(
    piece: str, end: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(media_type, "_SAMPLE", LARGE)
    data = (piece * (LARGE // len(piece)) + end).encode()
    assert detect_media_type(data) == media_type.TEXT
    assert detect_media_type(b"x\n|" + data) == media_type.TEXT


def test_a_page_begins_after_many_comments() -> None:
    page = "<?xml version='1.0'?>" + "<!-- a -->\n" * 5000 + "<HTML><p>İade</p>"
    assert detect_media_type(page.encode()) == media_type.HTML


def test_json_is_told_by_its_start() -> None:
    pairs = b'{"soru": "\xc4\xb0ade s\xc3\xbcresi?", "cevap": "14 g\xc3\xbcn"},' * 100_000
    assert detect_media_type(b"[" + pairs) == media_type.JSON
    assert detect_media_type(b'["' + b"\\u0131" * 100_000 + b'"]') == media_type.JSON
    assert detect_media_type(b"[" + b"[]," * LARGE + b"[]]") == media_type.JSON
    assert detect_media_type(b"[1] Kaynak\n" * 100_000) == media_type.TEXT
    assert detect_media_type(b"[" * LARGE) == media_type.TEXT


@pytest.mark.parametrize("text", ["İade süresi on dört gündür.", "Ad;Not\nAli;Şişli\n", "kısa"])
def test_a_stray_nul_makes_no_binary_of_a_text(text: str) -> None:
    data = text.encode()
    assert detect_media_type(data[:4] + b"\0" + data[4:], "a.txt") == media_type.TEXT
    assert detect_media_type(data + b"\0" * 5000, "a.txt") == media_type.TEXT
