"""EPUB: one bad chapter does not cost the book."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

import pytest

from ingestion.parsing import BrokenFile, NoContent, TooComplex, parse

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="OPS/book.opf"/></rootfiles></container>'
)
DEEP = "<html><body>" + "<div>" * 300 + "derin" + "</div>" * 300 + "</body></html>"


def book(chapters: Mapping[str, str | None]) -> bytes:
    """A book whose spine names these chapters; one that is None is missing."""
    manifest = "".join(
        f'<item id="{name}" href="{name}" media-type="application/xhtml+xml"/>' for name in chapters
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in chapters)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("mimetype", "application/epub+zip")
        package.writestr("META-INF/container.xml", CONTAINER)
        package.writestr(
            "OPS/book.opf",
            f'<package xmlns="http://www.idpf.org/2007/opf"><manifest>{manifest}</manifest>'
            f"<spine>{spine}</spine></package>",
        )
        for name, text in chapters.items():
            if text is not None:
                package.writestr(f"OPS/{name}", text)
    return buffer.getvalue()


def chapter(text: str) -> str:
    return f"<html><body><p>{text}</p></body></html>"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("", "Nothing readable was found in the file."),
        (None, "A part of it is missing."),
        (DEEP, "Its elements are nested too deeply."),
    ],
    ids=["empty", "missing", "deep"],
)
def test_a_chapter_that_cannot_be_read_is_left_out_and_reported(bad: str | None, why: str) -> None:
    document = parse(book({"1.xhtml": chapter("Bir."), "2.xhtml": bad, "3.xhtml": chapter("Üç.")}))

    assert [block.text for block in document.blocks] == ["Bir.", "Üç."]
    assert document.report.warnings == (f'The chapter "OPS/2.xhtml" was left out. {why}',)


@pytest.mark.parametrize(
    ("bad", "error"), [("", NoContent), (None, BrokenFile), (DEEP, TooComplex)]
)
def test_a_book_without_any_readable_chapter_is_refused(
    bad: str | None, error: type[Exception]
) -> None:
    with pytest.raises(error):
        parse(book({"1.xhtml": "<html><body/></html>", "2.xhtml": bad}))


def test_a_chapter_that_the_spine_names_twice_is_read_once() -> None:
    data = book({"1.xhtml": chapter("Bir."), "./1.xhtml": None, "2.xhtml": chapter("İki.")})

    assert [block.text for block in parse(data).blocks] == ["Bir.", "İki."]
