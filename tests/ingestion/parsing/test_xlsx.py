"""XLSX: sheets are as large as what they hold, and values are written as Excel shows them."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from datetime import timedelta

import pytest
from openpyxl import Workbook

from ingestion.parsing import Limits, ParsedDocument, TooComplex, parse


def saved(workbook: Workbook) -> bytes:
    buffer = io.BytesIO()
    workbook.save(buffer)
    return buffer.getvalue()


def sheet(*rows: tuple, cells: Mapping[tuple[int, int], object] | None = None) -> bytes:
    """A workbook of one sheet; `cells` by row and column stand apart from the rows."""
    workbook = Workbook()
    for row in rows:
        workbook.active.append(row)
    for (row, column), value in (cells or {}).items():
        workbook.active.cell(row, column, value)
    return saved(workbook)


def with_xml(data: bytes, xml: bytes) -> bytes:
    """The workbook with more rows at the end of its sheet."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(buffer, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            new.writestr(name, part.replace(b"</sheetData>", xml + b"</sheetData>"))
    return buffer.getvalue()


def texts(document: ParsedDocument) -> list[str]:
    return [block.all_text() for block in document.blocks]


def test_a_long_list_of_few_columns_is_read_to_its_end() -> None:
    rows = [(f"Ürün {n}", n, n + 0.5) for n in range(6000)]
    table = parse(sheet(("Ürün", "Stok", "Fiyat"), *rows)).blocks[0]

    assert len(table.rows) == 6000
    assert table.rows[-1] == ("Ürün 5999", "5999", "5999.5")


def test_long_sheets_of_one_workbook_do_not_add_up_what_they_do_not_hold() -> None:
    workbook = Workbook()
    for title in ("Ocak", "Şubat", "Mart"):
        month = workbook.create_sheet(title)
        month.append(("İl", "Ücret"))
        for n in range(1400):
            month.append((f"İl {n}", n))

    tables = [block for block in parse(saved(workbook)).blocks if block.rows]
    assert [len(table.rows) for table in tables] == [1400] * 3


def test_a_cell_in_the_last_row_does_not_cost_the_rows_between() -> None:
    data = sheet(("Ürün", "Fiyat"), ("Elma", 3), cells={(1_048_576, 1): "son"})

    assert texts(parse(data)) == ["Ürün | Fiyat\nElma | 3", "son"]


def test_rows_without_text_are_passed_over() -> None:
    empty = b"".join(b'<row r="%d" ht="15"><c r="A%d"/></row>' % (n, n) for n in range(3, 30_000))
    last = b'<row r="30000"><c r="A30000" t="inlineStr"><is><t>son</t></is></c></row>'
    data = with_xml(sheet(("Ürün", "Fiyat"), ("Elma", 3)), empty + last)

    limits = Limits(max_cells=100)
    assert texts(parse(data, limits=limits)) == ["Ürün | Fiyat\nElma | 3", "son"]


def test_a_row_that_no_sheet_can_have_is_refused() -> None:
    data = with_xml(sheet(("Ürün", "Fiyat")), b'<row r="999999999"><c><v>1</v></c></row>')

    with pytest.raises(TooComplex, match="1,048,576 rows"):
        parse(data)


def test_cells_beyond_the_last_column_are_left_out_and_reported() -> None:
    document = parse(sheet(("Ürün", "Fiyat"), ("Elma", 3), cells={(1, 16_384): "uç"}))

    assert texts(document) == ["Ürün | Fiyat\nElma | 3"]
    assert document.report.warnings == (
        'Cells of the sheet "Sheet" beyond column 500 were left out: 1.',
    )


def test_columns_far_apart_stand_beside_each_other() -> None:
    data = sheet(cells={(1, 1): "Ürün", (1, 400): "Fiyat", (2, 1): "Elma", (2, 400): 3})

    assert texts(parse(data)) == ["Ürün | Fiyat\nElma | 3"]


def test_few_cells_that_span_a_huge_grid_are_refused() -> None:
    scattered = {(n, n): "x" for n in range(1, 60)}

    with pytest.raises(TooComplex, match="cells"):
        parse(sheet(cells=scattered), limits=Limits(max_cells=60))


@pytest.mark.parametrize(
    ("hours", "number_format", "shown"),
    [
        (30, "[h]:mm:ss", "30:00:00"),
        (30.5, "[hh]:mm", "30:30"),
        (100.25, "[h]", "100"),
        (1.51, "[mm]:ss", "90:36"),
        (0.02, "[ss]", "72"),
        (-6, "[h]:mm:ss", "-6:00:00"),
    ],
)
def test_durations_are_written_in_hours(hours: float, number_format: str, shown: str) -> None:
    workbook = Workbook()
    workbook.active.append(("Mesai", timedelta(hours=hours)))
    workbook.active["B1"].number_format = number_format

    assert texts(parse(saved(workbook))) == [f"Mesai | {shown}"]
