"""Archives of documents are opened within bounds, and office packages as well."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile

import pytest

from ingestion.parsing import (
    BrokenFile,
    Limits,
    PasswordProtected,
    TooComplex,
    UnsupportedMediaType,
    detect_media_type,
    members,
    parse,
)
from ingestion.parsing.archive import safe_name
from ingestion.parsing.directory import open_zip

from .golden import DOCUMENTS


def packed(entries: dict[str, bytes], *, level: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", level) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def names(data: bytes, limits: Limits = Limits()) -> list[str]:  # noqa: B008
    return [name for name, _ in members(data, limits=limits)]


@pytest.mark.parametrize(
    ("stored", "safe"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\belgeler\\iade.txt", "C_/belgeler/iade.txt"),
        ("iade\u202etxt.exe", "iadetxt.exe"),
        ("a\0b.txt", "ab.txt"),
        ("./Yardım/ iade .txt", "Yardım/iade .txt"),
        ("..", ""),
    ],
)
def test_names_are_made_safe(stored: str, safe: str) -> None:
    assert safe_name(stored) == safe


def test_members_come_in_order_with_unique_names() -> None:
    data = packed({"b.txt": b"1", "x/../b.txt": b"2", "b/a.txt": b"3", "x/b.txt": b"4"})

    assert names(data) == ["b.txt", "x/b.txt", "b/a.txt", "x/b (2).txt"]


def test_links_and_system_entries_are_skipped() -> None:
    link = zipfile.ZipInfo("gizli.txt")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("__MACOSX/._a.txt", b"x")
        archive.writestr(".DS_Store", b"x")
        archive.writestr("a.txt", b"metin")

    assert names(buffer.getvalue()) == ["a.txt"]


@pytest.mark.parametrize("inner", [packed({"a.txt": b"x"}), b"\x1f\x8b" + b"\0" * 20, b"Rar!\x1a"])
def test_an_archive_inside_an_archive_is_refused(inner: bytes) -> None:
    with pytest.raises(TooComplex, match="another archive"):
        names(packed({"ic.zip": inner}))


def test_office_files_inside_an_archive_are_no_archives() -> None:
    docx = (DOCUMENTS / "docx" / "garanti.docx").read_bytes()

    assert names(packed({"garanti.docx": docx})) == ["garanti.docx"]


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    data = packed({"a.txt": b"\0" * 30_000_000})
    assert len(data) < 100_000

    with pytest.raises(TooComplex, match="tightly"):
        names(data)


def test_too_many_and_too_large_members_are_refused() -> None:
    with pytest.raises(TooComplex, match="more than 3 files"):
        names(packed({f"{i}.txt": b"x" for i in range(4)}), Limits(max_archive_members=3))
    with pytest.raises(TooComplex, match="unpacks"):
        names(packed({"a.txt": b"x" * 2000}), Limits(max_archive_bytes=1000))
    with pytest.raises(TooComplex, match="unpacks"):
        names(packed({"a.txt": b"x" * 2000}), Limits(max_member_bytes=1000))


def test_a_member_that_lies_about_its_size_is_broken() -> None:
    data = bytearray(packed({"a.txt": b"x" * 5000}, level=zipfile.ZIP_STORED))
    for start in (data.index(b"PK\x03\x04") + 22, data.index(b"PK\x01\x02") + 24):
        data[start : start + 4] = (10).to_bytes(4, "little")

    with pytest.raises(BrokenFile):
        names(bytes(data))


def test_an_encrypted_member_needs_its_password_removed() -> None:
    data = bytearray(packed({"a.txt": b"x"}))
    data[data.index(b"PK\x03\x04") + 6] |= 1
    data[data.index(b"PK\x01\x02") + 8] |= 1

    with pytest.raises(PasswordProtected):
        names(bytes(data))


def test_a_cut_off_archive_is_broken() -> None:
    with pytest.raises(BrokenFile):
        names(packed({"a.txt": b"x" * 100})[:-30])


def test_an_archive_is_not_a_document() -> None:
    with pytest.raises(UnsupportedMediaType):
        parse(packed({"a.txt": b"x"}), "a.zip")


def test_a_bomb_in_an_office_file_is_refused() -> None:
    bomb = packed({"[Content_Types].xml": b"<a/>", "word/document.xml": b" " * 30_000_000})

    with pytest.raises(TooComplex):
        parse(bomb, "bomba.docx")


LAUGHS = (
    b'<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">'
    b'<!ENTITY lol2 "&lol;&lol;&lol;&lol;">]><lolz>&lol2;</lolz>'
)

LATE = LAUGHS.replace(b"<!DOCTYPE", b"<!--" + b"x" * 200_000 + b"--><!DOCTYPE")


@pytest.mark.parametrize(
    "entries",
    [
        {"[Content_Types].xml": b"<a/>", "word/document.xml": LAUGHS},
        {"[Content_Types].xml": b"<a/>", "xl/workbook.xml": LAUGHS},
        {"[Content_Types].xml": b"<a/>", "ppt/presentation.xml": LAUGHS},
        {
            "mimetype": b"application/vnd.oasis.opendocument.text",
            "META-INF/manifest.xml": b"<a/>",
            "content.xml": LAUGHS,
        },
        {"mimetype": b"application/epub+zip", "META-INF/container.xml": LAUGHS},
        {"[Content_Types].xml": b"<a/>", "word/document.xml": LAUGHS.decode().encode("utf-16")},
        {"[Content_Types].xml": b"<a/>", "word/document.xml": LATE},
        {"[Content_Types].xml": b"<a/>", "word/document.xml": LATE.decode().encode("utf-16")},
        {"[Content_Types].xml": b"<a/>", "word/document.xml": LAUGHS.decode().encode("utf-32")},
    ],
    ids=["docx", "xlsx", "pptx", "odt", "epub", "utf-16", "late", "late in utf-16", "utf-32"],
)
def test_entities_in_xml_are_refused(entries: dict[str, bytes]) -> None:
    with pytest.raises(TooComplex, match="entities"):
        parse(packed(entries))


def test_a_document_may_speak_of_entities_and_name_its_type() -> None:
    docx = (DOCUMENTS / "docx" / "garanti.docx").read_bytes()
    with zipfile.ZipFile(io.BytesIO(docx)) as old:
        entries = {name: old.read(name) for name in old.namelist()}
    spoken = b"<!-- <!ENTITY is how one is declared --><!DOCTYPE document>"
    body = entries["word/document.xml"]
    entries["word/document.xml"] = body.replace(b"<w:document", spoken + b"<w:document", 1)

    assert parse(packed(entries)).blocks == parse(docx).blocks


def test_turkish_names_from_windows_are_read() -> None:
    info = zipfile.ZipInfo("SXparY.txt")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, b"x")
    stored = "Şipğ.txt".encode("cp857").ljust(10, b"_")
    data = buffer.getvalue().replace(b"SXparY.txt", stored)

    assert names(data)[0].startswith("Şipğ.txt")


def directory_of(entries: int, *, long: bool = False) -> bytes:
    """A ZIP file of entries alone, whose end says nothing true of their number."""
    entry = b"PK\x01\x02" + bytes([20, 3, 20]) + bytes(21) + b"\x01\0" + bytes(16) + b"a"
    start, listed = b"PK\x03\x04" + b"\0" * 26, entry * entries
    extended = (
        struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, 1, 1, len(listed), len(start))
        + struct.pack("<4sLQL", b"PK\x06\x07", 0, len(start) + len(listed), 1)
    ) * long
    size = 0 if long else len(listed)
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, size, len(start), 0)
    return start + listed + extended + end


@pytest.mark.parametrize("long", [False, True])
def test_a_directory_without_end_is_refused_before_it_is_read(long: bool) -> None:
    with zipfile.ZipFile(io.BytesIO(directory_of(3, long=long))) as package:
        assert len(package.infolist()) == 3
    data = directory_of(900_000, long=long)
    for read in (detect_media_type, names):
        with pytest.raises(TooComplex, match="5,000 files"):
            read(data)
    with pytest.raises(TooComplex, match="another archive"):
        names(packed({"a.dat": data}, level=zipfile.ZIP_STORED))


def test_a_directory_of_few_entries_that_is_far_too_long_is_refused() -> None:
    listed = b"PK\x01\x02" + bytes(26) + b"\xfc\xff" + bytes(14) + b"cc\0\0" * 16383
    end = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, 1, 1, 700 * len(listed), 30, 0)
    with pytest.raises(TooComplex, match="too long"):
        detect_media_type(b"PK\x03\x04" + bytes(26) + listed * 700 + end)


def test_entries_of_archives_inside_are_not_counted() -> None:
    inside = packed({f"{n}.txt": b"x" for n in range(30)}, level=zipfile.ZIP_STORED)
    data = packed({f"{n}.docx": inside for n in range(4)}, level=zipfile.ZIP_STORED)
    with open_zip(data, 100) as package:
        assert len(package.infolist()) == 4


def test_thousands_of_members_of_one_name_are_told_apart() -> None:
    buffer = io.BytesIO()
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(buffer, "w") as archive:
        for _ in range(5000):
            archive.writestr("a.txt", b"x")
    found = names(buffer.getvalue())
    assert found[:3] == ["a.txt", "a (2).txt", "a (3).txt"]
    assert len(set(found)) == 5000
