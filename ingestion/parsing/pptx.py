"""PPTX: a slide's title as a heading, then its text, tables and charts; `page` is the slide.

Read by python-pptx, groups included. Slide numbers, dates and footers are left out and counted;
speaker notes and hidden slides are left out and reported, since they are not meant for readers.
Diagrams, and charts that keep no numbers, are reported as well.
"""

from __future__ import annotations

import io
from collections.abc import Iterator

from pptx import Presentation
from pptx.enum.shapes import PP_PLACEHOLDER
from pptx.exc import PythonPptxError

from .archive import PACKAGE_FAILURES, Package
from .blocks import Block, BlockKind, Reading
from .charts import chart_tables
from .clean import fold
from .errors import BrokenFile, TooComplex
from .limits import Limits
from .tables import table_block

_FURNITURE = (PP_PLACEHOLDER.SLIDE_NUMBER, PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER)
_TITLES = (PP_PLACEHOLDER.TITLE, PP_PLACEHOLDER.CENTER_TITLE, PP_PLACEHOLDER.VERTICAL_TITLE)


def read_pptx(data: bytes, limits: Limits) -> Reading:
    """The slides of a presentation."""
    Package(data, limits).check_xml()
    try:
        presentation = Presentation(io.BytesIO(data))
        slides = list(presentation.slides)
        if len(slides) > limits.max_pages:
            raise TooComplex(f"It has more than {limits.max_pages:,} slides.")
        return _read(slides, fold(presentation.core_properties.title or ""))
    except (PythonPptxError, *PACKAGE_FAILURES) as error:
        raise BrokenFile() from error


def _read(slides, title: str) -> Reading:  # type: ignore[no-untyped-def]  # python-pptx has no types
    blocks: list[Block] = []
    blank, furniture, notes, hidden, drawn = [], 0, 0, 0, 0
    for number, slide in enumerate(slides, start=1):
        if slide.element.get("show") == "0":
            hidden += 1
            continue
        notes += int(slide.has_notes_slide and bool(fold(_notes(slide))))
        shapes = list(_shapes(slide.shapes))
        furniture += sum(_is_furniture(shape) for shape in shapes)
        found = list(_slide_blocks(shapes, number))
        drawn += sum(_is_only_drawn(shape) for shape in shapes)
        if not found:
            blank.append(number)
        blocks.extend(found)
    warnings = [f"{notes} slides have speaker notes, which were left out."] if notes else []
    warnings += [f"{hidden} hidden slides were left out."] if hidden else []
    warnings += [f"{drawn} diagrams or charts could not be read."] if drawn else []
    first = next((b.text for b in blocks[:1] if b.kind is BlockKind.HEADING), "")
    generic = title.lower() in ("", "powerpoint presentation", "powerpoint sunusu")
    return Reading(
        tuple(blocks),
        first or ("" if generic else title),
        pages=len(slides),
        pages_without_text=tuple(blank),
        boilerplate_removed=furniture,
        warnings=tuple(warnings),
    )


def _notes(slide) -> str:  # type: ignore[no-untyped-def]
    frame = slide.notes_slide.notes_text_frame
    return frame.text if frame is not None else ""


def _shapes(shapes) -> Iterator:  # type: ignore[no-untyped-def]
    """All shapes of a slide, those in groups in the place of their group; the title first."""
    ordered = sorted(shapes, key=lambda shape: not _has_role(shape, _TITLES))
    for shape in ordered:
        if hasattr(shape, "shapes"):
            yield from _shapes(shape.shapes)
        else:
            yield shape


def _has_role(shape, roles) -> bool:  # type: ignore[no-untyped-def]
    return shape.is_placeholder and shape.placeholder_format.type in roles


def _is_furniture(shape) -> bool:  # type: ignore[no-untyped-def]
    return (
        _has_role(shape, _FURNITURE) and shape.has_text_frame and bool(fold(shape.text_frame.text))
    )


def _is_only_drawn(shape) -> bool:  # type: ignore[no-untyped-def]
    if getattr(shape, "has_chart", False):
        return not any(chart_tables(shape.chart.element, None))
    return str(getattr(shape.element, "graphicData_uri", "")).endswith("/diagram")


def _slide_blocks(shapes, number: int) -> Iterator[Block]:  # type: ignore[no-untyped-def]
    for shape in shapes:
        if _has_role(shape, _FURNITURE):
            continue
        if getattr(shape, "has_table", False):
            yield from filter(None, [_table(shape.table, number)])
        elif getattr(shape, "has_chart", False):
            yield from chart_tables(shape.chart.element, number)
        elif shape.has_text_frame:
            yield from _text_blocks(shape, number)


def _text_blocks(shape, number: int) -> Iterator[Block]:  # type: ignore[no-untyped-def]
    paragraphs = [text for p in shape.text_frame.paragraphs if (text := fold(p.text))]
    if _has_role(shape, _TITLES):
        if paragraphs:
            level = 1 if number == 1 else 2
            yield Block(BlockKind.HEADING, " ".join(paragraphs), level, number)
        return
    listed = shape.is_placeholder and len(paragraphs) > 1
    kind = BlockKind.LIST_ITEM if listed else BlockKind.PARAGRAPH
    yield from (Block(kind, text, page=number) for text in paragraphs)


def _table(table, number: int) -> Block | None:  # type: ignore[no-untyped-def]
    """A table; cells that a merge covers share the text of the cell that spans them."""
    grid = [[cell.text for cell in row.cells] for row in table.rows]
    for r, row in enumerate(table.rows):
        for c, cell in enumerate(row.cells):
            if cell.is_merge_origin:
                for down in range(cell.span_height):
                    for right in range(cell.span_width):
                        grid[r + down][c + right] = cell.text
    return table_block(grid, page=number, header_rows=1 if table.first_row else None)
