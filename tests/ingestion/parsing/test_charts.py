"""Charts of a presentation are read as the tables they were drawn from."""

from __future__ import annotations

import io

from pptx import Presentation
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Inches

from ingestion.parsing import Block, BlockKind, ParsedDocument, parse

AREA = (Inches(1), Inches(1), Inches(6), Inches(4))
ChartData = CategoryChartData | XyChartData
C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"


def deck(
    data: ChartData, kind: XL_CHART_TYPE, *, title: str = "", keep: bool = True
) -> ParsedDocument:
    """A presentation with nothing but one chart; without `keep` it has lost its numbers."""
    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[6])
    chart = slide.shapes.add_chart(kind, *AREA, data).chart
    if title:
        chart.chart_title.text_frame.text = title
    for series in list(chart.element.iter(C + "ser")):
        if not keep:
            series.getparent().remove(series)
    if not keep:
        slide.shapes.add_textbox(*AREA).text_frame.text = "Metin"
    buffer = io.BytesIO()
    presentation.save(buffer)
    return parse(buffer.getvalue(), "sunum.pptx")


def test_categories_series_and_values_become_a_table() -> None:
    data = CategoryChartData(number_format="#,##0")
    data.categories = ["Ocak", "Şubat"]
    data.add_series("2025", (1250, 1400))
    data.add_series("2026", (1300, None))
    document = deck(data, XL_CHART_TYPE.COLUMN_CLUSTERED, title="Aylık satış")

    assert document.blocks == (
        Block(
            BlockKind.TABLE,
            "",
            page=1,
            header=("", "2025", "2026"),
            rows=(("Ocak", "1,250", "1,300"), ("Şubat", "1,400", "")),
            caption="Aylık satış",
        ),
    )
    assert document.report.pages_without_text == ()
    assert document.report.warnings == ()


def test_a_chart_without_axes_is_read_by_its_format() -> None:
    data = CategoryChartData(number_format="0%")
    data.categories = ["Kargo", "İade"]
    data.add_series("Pay", (0.75, 0.25))

    table = deck(data, XL_CHART_TYPE.PIE).blocks[0]
    assert table.rows == (("Kargo", "75%"), ("İade", "25%"))


def test_categories_in_levels_name_all_of_them() -> None:
    data = CategoryChartData()
    for year in ("2025", "2026"):
        outer = data.add_category(year)
        for month in ("Ocak", "Şubat"):
            outer.add_sub_category(month)
    data.add_series("Satış", (1, 2, 3, 4))

    table = deck(data, XL_CHART_TYPE.COLUMN_CLUSTERED).blocks[0]
    assert table.rows[1] == ("2025 / Şubat", "2")
    assert table.rows[2] == ("2026 / Ocak", "3")


def test_points_have_a_table_for_each_series() -> None:
    data = XyChartData()
    for name, points in (("Ankara", [(1, 2.5), (2, 3)]), ("Van", [(5, 6)])):
        series = data.add_series(name)
        for x, y in points:
            series.add_data_point(x, y)

    tables = deck(data, XL_CHART_TYPE.XY_SCATTER).blocks
    assert [(table.header, table.rows) for table in tables] == [
        (("", "Ankara"), (("1", "2.5"), ("2", "3"))),
        (("", "Van"), (("5", "6"),)),
    ]


def test_a_chart_that_keeps_no_numbers_is_reported() -> None:
    data = CategoryChartData()
    data.categories = ["Ocak"]
    data.add_series("2025", (1,))
    document = deck(data, XL_CHART_TYPE.COLUMN_CLUSTERED, keep=False)

    assert document.report.warnings == ("1 diagrams or charts could not be read.",)
