"""PDF: order, headings, what repeats, what cannot be read."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from pypdfium2 import PdfDocument

from ingestion.parsing import (
    BlockKind,
    BrokenFile,
    GarbledText,
    Limits,
    NoContent,
    PasswordProtected,
    TooComplex,
    parse,
    pdf,
)
from ingestion.parsing.ocr import tesseract_is_installed
from ingestion.parsing.pdf_layout import Paragraph, read_layout
from ingestion.parsing.pdf_page import PageText, Rule, Run
from ingestion.parsing.pdf_tables import aligned_tables, join_lines, lines_of, ruled_tables

from .golden import DOCUMENTS

PDFS = DOCUMENTS / "pdf"
SCANNED = DOCUMENTS / "refused" / "taranmis-sozlesme.pdf"


def blank_pdf(pages: int) -> bytes:
    document = PdfDocument.new()
    for _ in range(pages):
        document.new_page(595, 842)
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def run(text: str, x: float, y: float, *, bold: bool = False) -> Run:
    return Run(text, x, y, x + 5 * len(text), y + 11, 10.0, bold)


def test_two_columns_are_read_one_after_the_other() -> None:
    blocks = parse((PDFS / "bulten.pdf").read_bytes()).blocks
    headings = [block.text for block in blocks if block.kind is BlockKind.HEADING]

    assert headings[:5] == [
        "Kumbara Bülteni",
        "İade süresi uzadı",
        "Yeni mağaza: Eskişehir",
        "Garanti belgeleri dijital",
        "Kargo kutuları küçülüyor",
    ]


def test_columns_below_a_table_are_read_in_order_and_what_a_browser_printed_is_dropped() -> None:
    blocks = parse((PDFS / "kargo-sozlesmesi.pdf").read_bytes()).blocks
    starts = [block.all_text()[:10] for block in blocks]

    assert starts == [
        "Kargo sözl", "Bu belge, ", "Süreler", "Bölge | Te", "Sorumluluk", "Taşıyıcı, ",
        "Kaybolan g", "1. Gönderi", "2. Randevu", "Asansörsüz", "Not: Bayra",
    ]  # fmt: skip


def set_lines(*lines: tuple[str, float, float]) -> list[str]:
    """The paragraphs of a page of lines, each with its foot and the size of its letters."""
    runs = [
        Run(text, 50, foot - size, 50 + 0.5 * size * len(text), foot, size, False)
        for text, foot, size in lines
    ]
    items = read_layout(PageText(1, 600, 800, runs, []))
    return [item.text for item in items if isinstance(item, Paragraph)]


def test_the_second_line_of_a_title_is_part_of_it_and_a_colon_in_prose_ends_a_line() -> None:
    prose = "Mağazalarımızda ve sitemizde yaptığınız alışverişlerde şu bilgileri"
    found = set_lines(
        ("Kişisel verilerin korunması:", 100, 18),
        ("aydınlatma metni", 122, 18),
        (prose, 160, 10),
        ("isteriz:", 172, 10),
        ("Adınız.", 184, 10),
        (prose, 196, 10),
        ("Şikâyetler:", 240, 18),
        ("Kurula nasıl başvurulur?", 290, 18),  # too far below to be one heading
        (prose, 310, 10),
    )

    assert found == [
        "Kişisel verilerin korunması: aydınlatma metni",
        f"{prose} isteriz:",
        "Adınız.",
        prose,
        "Şikâyetler:",
        "Kurula nasıl başvurulur?",
        prose,
    ]


def test_a_title_on_two_lines_is_the_title_of_the_document() -> None:
    notice = DOCUMENTS.parents[1] / "demo/documents/tr/kvkk-aydinlatma-metni.pdf"

    document = parse(notice.read_bytes(), notice.name)

    assert document.title == "Kişisel verilerin korunması: aydınlatma metni"
    assert document.blocks[0].text == document.title


def test_running_headers_and_page_numbers_are_removed() -> None:
    document = parse((PDFS / "teslimat-rehberi.pdf").read_bytes())
    text = "\n".join(block.all_text() for block in document.blocks)

    assert "Kumbara Ev Gereçleri ·" not in text
    assert "Sayfa" not in text
    assert document.report.boilerplate_removed == 2 * document.report.pages


def test_a_divided_word_is_joined() -> None:
    text = " ".join(block.text for block in parse((PDFS / "bulten.pdf").read_bytes()).blocks)

    assert "-" not in text


@pytest.mark.parametrize(
    ("lines", "joined"),
    [
        (["Sipari-", "şiniz geldi"], "Siparişiniz geldi"),
        (["kod TR-", "1234 olarak"], "kod TR-1234 olarak"),
        (["bir e-", "posta yazın"], "bir e- posta yazın"),
        (["Ankara-", "İstanbul"], "Ankara- İstanbul"),
        (["servis@kumbara.", "example"], "servis@kumbara.example"),
        (["bir", "iki"], "bir iki"),
    ],
)
def test_lines_are_joined(lines: list[str], joined: str) -> None:
    assert join_lines(lines) == joined


def test_a_table_that_spans_pages_keeps_its_column_names_and_its_rows_whole() -> None:
    document = parse((PDFS / "fiyat-listesi.pdf").read_bytes())
    tables = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    rows = [row for table in tables for row in table.rows]

    assert [table.page for table in tables] == [1, 2, 3, 4]
    assert {table.header for table in tables} == {("Ürün kodu", "Ürün", "Fiyat", "Stok")}
    assert len(rows) == 70
    assert all(row[0].startswith("TR-") and row[2].endswith("TL") for row in rows)


def test_a_ruled_grid_becomes_rows_and_merged_cells_share_their_text() -> None:
    rules = [Rule(0, y, 200, y) for y in (0, 20, 60)] + [Rule(100, 40, 200, 40)]
    rules += [Rule(x, 0, x, 60) for x in (0, 100, 200)]
    runs = [run("İl", 5, 5), run("Gün", 105, 5), run("Van", 5, 35), run("1", 105, 25)]
    runs += [run("2", 105, 45), run("dışarıda", 5, 100)]

    (grid,) = ruled_tables(runs, rules)

    assert grid.rows == [["İl", "Gün"], ["Van", "1"], ["Van", "2"]]


def test_aligned_lines_become_rows_but_prose_does_not() -> None:
    table = [
        run(text, x, 12 * row)
        for row, pair in enumerate(("İl Gün", "Van 3", "Iğdır 4"))
        for text, x in zip(pair.split(), (0, 100), strict=True)
    ]
    prose = [run("Bir satır metin burada durur.", 0, 60), run("İkinci satır.", 0, 72)]

    found = aligned_tables(lines_of(table + prose))

    assert found == [(0, 3, [["İl", "Gün"], ["Van", "3"], ["Iğdır", "4"]])]


def test_a_password_is_asked_to_be_removed() -> None:
    with pytest.raises(PasswordProtected):
        parse((DOCUMENTS / "refused" / "parolali.pdf").read_bytes())


@pytest.mark.parametrize("keep", [30, 400, 20_000])
def test_a_cut_off_pdf_is_broken_or_still_read(keep: int) -> None:
    data = (PDFS / "garanti.pdf").read_bytes()[:keep]

    with pytest.raises((BrokenFile, NoContent)):
        parse(data)


def test_junk_after_the_signature_is_broken() -> None:
    with pytest.raises(BrokenFile):
        parse(b"%PDF-1.7\n" + b"junk " * 500)


def test_fonts_that_do_not_name_their_letters_are_garbled() -> None:
    data = (PDFS / "garanti.pdf").read_bytes().replace(b"/ToUnicode", b"/XoUnicode")

    with pytest.raises(GarbledText) as caught:
        parse(data)

    assert caught.value.context["report"]["garble_ratio"] > 0.3


def test_a_pdf_of_a_hundred_thousand_empty_pages_is_refused_at_once() -> None:
    with pytest.raises(TooComplex):
        parse(blank_pdf(300), limits=Limits(max_pages=200))


def test_empty_pages_are_reported_and_refused() -> None:
    with pytest.raises(NoContent) as caught:
        parse(blank_pdf(3))

    assert caught.value.context["report"]["pages_without_text"] == [1, 2, 3]


def told(data: bytes, limits: Limits = Limits()) -> list[tuple[int, int]]:  # noqa: B008
    """What is said of the progress while a file is read."""
    steps: list[tuple[int, int]] = []
    with suppress(NoContent):
        parse(data, limits=limits, progress=lambda done, total: steps.append((done, total)))
    return steps


def test_progress_counts_the_pages_read_of_all_there_are() -> None:
    assert told((PDFS / "teslimat-rehberi.pdf").read_bytes()) == [(n, 4) for n in range(5)]


def with_scanned_pages(pages: int) -> bytes:
    """A page of text, one without anything, and pictures of pages."""
    document = PdfDocument.new()
    document.import_pages(PdfDocument(PDFS / "teslimat-rehberi.pdf"), [0])
    document.new_page(595, 842)
    for _ in range(pages):
        document.import_pages(PdfDocument(SCANNED))
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def test_a_scanned_page_counts_only_when_its_text_was_recognised(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    steps: list[tuple[int, int]] = []
    when: list[tuple[int, int]] = []
    monkeypatch.setattr(pdf, "tesseract_is_installed", lambda: True)
    monkeypatch.setattr(pdf, "recognise", lambda page, seconds: when.append(steps[-1]) or [])
    parse(with_scanned_pages(3), progress=lambda done, total: steps.append((done, total)))
    assert when == [(2, 5), (3, 5), (4, 5)]
    assert steps[-1] == (5, 5)


def test_scanned_pages_that_nobody_reads_are_done_with() -> None:
    assert told(with_scanned_pages(3), Limits(ocr=False))[-1] == (5, 5)


def test_what_progress_raises_ends_the_reading() -> None:
    def enough(done: int, total: int) -> None:
        if done == 2:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        parse((PDFS / "teslimat-rehberi.pdf").read_bytes(), progress=enough)


def test_time_is_bounded() -> None:
    with pytest.raises(TooComplex, match="seconds"):
        parse((PDFS / "bulten.pdf").read_bytes(), limits=Limits(seconds=-1))


def test_a_scanned_pdf_without_ocr_says_what_to_do() -> None:
    with pytest.raises(NoContent, match="pictures") as caught:
        parse(SCANNED.read_bytes(), limits=Limits(ocr=False))

    assert caught.value.context["report"]["pages_without_text"] == [1]


@pytest.mark.skipif(not tesseract_is_installed(), reason="Tesseract is not installed")
def test_a_scanned_pdf_is_read_by_ocr() -> None:
    document = parse(SCANNED.read_bytes())
    text = " ".join(block.text for block in document.blocks)

    assert "Mesafeli Satış Sözleşmesi" in text
    assert "hiçbir gerekçe göstermeden cayabilir" in text
    assert document.blocks[0].page == 1
    assert any("OCR" in warning for warning in document.report.warnings)
