"""DOCX, XLSX, PPTX, ODT and RTF beyond their golden files: what is easily lost, what is broken."""

from __future__ import annotations

import io
import zipfile
from datetime import datetime

import pytest
from docx import Document
from openpyxl import Workbook
from pptx import Presentation

from ingestion.parsing import (
    Block,
    BlockKind,
    BrokenFile,
    Limits,
    NoContent,
    ParsedDocument,
    PasswordProtected,
    TooComplex,
    parse,
)

from .golden import DOCUMENTS


def saved(document) -> bytes:
    buffer = io.BytesIO()
    document.save(buffer)
    return buffer.getvalue()


def sheet(*rows: tuple, formats: dict[str, str] | None = None) -> ParsedDocument:
    workbook = Workbook()
    for row in rows:
        workbook.active.append(row)
    for cell, number_format in (formats or {}).items():
        workbook.active[cell].number_format = number_format
    return parse(saved(workbook), "tablo.xlsx")


@pytest.mark.parametrize(
    "name", ["docx/garanti.docx", "xlsx/stok.xlsx", "pptx/egitim.pptx", "odt/garanti.odt"]
)
def test_a_cut_off_or_hollow_package_is_broken(name: str) -> None:
    data = (DOCUMENTS / name).read_bytes()
    with pytest.raises(BrokenFile):
        parse(data[: len(data) // 2], name)

    hollow = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(hollow, "w") as new:
        for entry in old.namelist():
            broken = entry.endswith((".xml", ".rels")) and entry != "META-INF/manifest.xml"
            new.writestr(entry, b"<a" if broken else old.read(entry))
    with pytest.raises(BrokenFile):
        parse(hollow.getvalue(), name)


def test_tables_of_a_docx_stand_where_they_belong() -> None:
    document = Document()
    document.add_paragraph("önce")
    table = document.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), "ABCD", strict=True):
        cell.text = text
    document.add_paragraph("sonra")

    assert [b.kind for b in parse(saved(document)).blocks] == [
        BlockKind.PARAGRAPH,
        BlockKind.TABLE,
        BlockKind.PARAGRAPH,
    ]


def test_a_frame_of_one_cell_is_not_a_table() -> None:
    document = Document()
    document.add_table(1, 1).cell(0, 0).text = "Dikkat: kırılgan."

    assert parse(saved(document)).blocks == (Block(BlockKind.PARAGRAPH, "Dikkat: kırılgan."),)


def test_tracked_insertions_stay_and_deletions_go() -> None:
    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = Document()
    from docx.oxml import parse_xml

    document.element.body.insert(
        0,
        parse_xml(
            f"<w:p {w}><w:r><w:t>Süre </w:t></w:r><w:del w:id='1'><w:r><w:delText>14</w:delText>"
            "</w:r></w:del><w:ins w:id='2'><w:r><w:t>30</w:t></w:r></w:ins><w:r><w:t> gün</w:t>"
            "</w:r></w:p>"
        ),
    )

    assert parse(saved(document)).blocks[0].text == "Süre 30 gün"


def test_text_boxes_of_a_docx_are_read_once() -> None:
    from docx.oxml import parse_xml

    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    mc = 'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    box = "<w:txbxContent><w:p><w:r><w:t>Kutu metni</w:t></w:r></w:p></w:txbxContent>"
    document = Document()
    document.element.body.insert(
        0,
        parse_xml(
            f"<w:p {w} {mc}><w:r><w:t>Gövde</w:t><mc:AlternateContent><mc:Choice Requires='wps'>"
            f"{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r></w:p>"
        ),
    )

    assert [b.text for b in parse(saved(document)).blocks] == ["Gövde", "Kutu metni"]


def test_text_boxes_inside_text_boxes_and_tables_are_read() -> None:
    from docx.oxml import parse_xml

    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'

    def boxed(text: str, inner: str = "") -> str:
        run = f"<w:r><w:t>{text}</w:t></w:r>"
        return f"<w:r><w:txbxContent><w:p>{run}{inner}</w:p></w:txbxContent></w:r>"

    document = Document()
    document.element.body.insert(
        0, parse_xml(f"<w:p {w}>{boxed('dış', boxed('orta', boxed('iç')))}</w:p>")
    )
    table = document.add_table(1, 2)
    table.cell(0, 0).text, table.cell(0, 1).text = "A", "B"
    table.cell(0, 1)._tc.append(parse_xml(f"<w:p {w}>{boxed('hücrede')}</w:p>"))

    assert [b.all_text() for b in parse(saved(document)).blocks] == [
        "dış",
        "orta",
        "iç",
        "A | B",
        "hücrede",
    ]


def test_a_row_may_not_claim_to_skip_millions_of_columns() -> None:
    from docx.oxml import parse_xml

    w = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    document = Document()
    table = document.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), "ABCD", strict=True):
        cell.text = text
    skip = f"<w:trPr {w}><w:gridBefore w:val='2000000000'/></w:trPr>"
    table.rows[1]._tr.insert(0, parse_xml(skip))

    rows = parse(saved(document)).blocks[0].rows
    assert [list(filter(None, row)) for row in rows] == [["A", "B"], ["C", "D"]]


def test_headings_are_known_by_style_and_by_outline() -> None:
    document = Document()
    document.add_heading("Bir", 1)
    document.add_heading("Üç", 3)
    made = document.styles.add_style("Kumbara Başlık", 1)
    made.base_style = document.styles["Heading 2"]
    document.add_paragraph("İki", style="Kumbara Başlık")

    assert [(b.text, b.level) for b in parse(saved(document)).blocks] == [
        ("Bir", 1),
        ("Üç", 3),
        ("İki", 2),
    ]


def test_an_empty_docx_has_no_content() -> None:
    with pytest.raises(NoContent):
        parse(saved(Document()))


def test_values_are_written_as_a_person_sees_them() -> None:
    table = sheet(
        ("Ad", "Değer"),
        ("Fiyat", 35000.5),
        ("Oran", 0.185),
        ("Tarih", datetime(2026, 2, 1)),
        ("An", datetime(2026, 2, 1, 14, 30)),
        ("Sayı", 12),
        ("Ondalık", 0.1 + 0.2),
        ("Var", True),
        formats={"B2": '#,##0.00 "TL"', "B3": "0.0%"},
    ).blocks[0]

    assert dict(table.rows) == {
        "Fiyat": "35.000,50 TL",
        "Oran": "18.5%",
        "Tarih": "01.02.2026",
        "An": "01.02.2026 14:30",
        "Sayı": "12",
        "Ondalık": "0.3",
        "Var": "✓",
    }


def test_tables_on_one_sheet_are_parted_by_empty_rows() -> None:
    blocks = sheet(
        ("Kargo ücretleri",), ("İl", "Ücret"), ("Van", 5), (), ("İl", "Gün"), ("Van", 3), ("Not",)
    ).blocks

    assert [(b.kind, b.caption, b.header) for b in blocks] == [
        (BlockKind.TABLE, "Kargo ücretleri", ("İl", "Ücret")),
        (BlockKind.TABLE, "", ("İl", "Gün")),
        (BlockKind.PARAGRAPH, "", ()),
    ]


def test_hidden_sheets_are_left_out_and_reported() -> None:
    report = parse((DOCUMENTS / "xlsx" / "kargo-ve-taksit.xlsx").read_bytes()).report

    assert report.warnings == ('The hidden sheet "İç notlar" was left out.',)


def test_too_many_cells_are_refused() -> None:
    data = (DOCUMENTS / "xlsx" / "stok.xlsx").read_bytes()

    with pytest.raises(TooComplex, match="cells"):
        parse(data, limits=Limits(max_cells=50))


def test_speaker_notes_are_left_out_and_reported() -> None:
    document = parse((DOCUMENTS / "pptx" / "egitim.pptx").read_bytes())

    assert "speaker notes" in document.report.warnings[0]
    assert "konuşma" not in " ".join(block.all_text() for block in document.blocks)


def test_hidden_slides_are_left_out_and_reported() -> None:
    presentation = Presentation()
    for title in ("Açık", "Gizli"):
        slide = presentation.slides.add_slide(presentation.slide_layouts[5])
        slide.shapes.title.text = title
    slide.element.set("show", "0")

    document = parse(saved(presentation))

    assert [block.text for block in document.blocks] == ["Açık"]
    assert document.report.warnings == ("1 hidden slides were left out.",)


def test_an_encrypted_odt_needs_its_password_removed() -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        package.writestr("META-INF/manifest.xml", "<manifest:encryption-data/>")
        package.writestr("content.xml", b"\x01\x02")

    with pytest.raises(PasswordProtected):
        parse(buffer.getvalue())


@pytest.mark.parametrize(
    ("rtf", "text"),
    [
        (rb"{\rtf1\ansi\ansicpg1254 Sipari\'fe \'fc\'e7 g\'fcn\par}", "Sipariş üç gün"),
        (rb"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset162 Arial;}}\f0 \'fe\par}", "ş"),
        (rb"{\rtf1\ansi\uc1 \u351?ube \u8364\'80\par}", "şube €"),
        (rb"{\rtf1\uc1 Tamam \u-10179?\u-8704? oldu\par}", "Tamam 😀 oldu"),
        (rb"{\rtf1\uc0 {\u-10187}{\u-8784}\par}", "𝖰"),
        (rb"{\rtf1\uc1 \u-10179?" + b" bir" * 30 + rb"\par}", ("bir " * 30).strip()),
        (rb"{\rtf1 bir{\*\gizli iki}{\pict 00ff}\'fc\~\emdash\line son}", "birü — son"),
        (rb"{\rtf1 a\\b\{c\}\par}", "a\\b{c}"),
        (b"{\\rtf1 a{\\pict\\bin6 }}{\\}x}b\\par}", "ab"),
    ],
)
def test_rtf_text_is_decoded(rtf: bytes, text: str) -> None:
    assert parse(rtf).blocks[0].text == text


def test_a_cut_off_rtf_warns_and_a_deep_one_is_refused() -> None:
    assert parse(rb"{\rtf1 bir\par iki").report.warnings
    with pytest.raises(TooComplex):
        parse(rb"{\rtf1 " + b"{" * 5000 + b"x")
    with pytest.raises(BrokenFile):
        parse(rb"{\rtf1{\fonttbl{\f0 Arial")
