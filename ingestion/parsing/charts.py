"""A chart of an office file as the table that it was drawn from.

A chart keeps the labels and numbers that it shows beside the sheet they came from. Series become
columns, categories rows; series with categories of their own, as points in a plane have, get a
table each. Numbers are written by their format.
"""

from __future__ import annotations

from collections.abc import Iterator

from lxml import etree
from openpyxl.styles.numbers import is_date_format
from openpyxl.utils.datetime import from_excel

from .blocks import Block
from .clean import fold
from .tables import table_block
from .xlsx import date_text, number_text

_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_TEXT = "{http://schemas.openxmlformats.org/drawingml/2006/main}t"
_CATEGORIES, _VALUES = ("cat", "xVal"), ("val", "yVal")
_AXES = ("catAx", "dateAx")

Column = dict[int, str]  # texts by the number of their point


def chart_tables(chart: etree._Element, page: int | None) -> Iterator[Block]:
    """The tables of a chart's XML, captioned with its title; none when it keeps no numbers."""
    title = _title(next(chart.iter(_C + "chart"), None))
    axis = next((name for tag in _AXES for ax in chart.iter(_C + tag) if (name := _title(ax))), "")
    for categories, series in _groups(chart):
        points = sorted(set().union(*(values for _, values in series)))
        header = [axis, *(name for name, _ in series)]
        rows = [
            [categories.get(point, ""), *(values.get(point, "") for _, values in series)]
            for point in points
        ]
        if rows and (
            block := table_block([header, *rows], page=page, caption=title, header_rows=1)
        ):
            yield block


def _groups(chart: etree._Element) -> list[tuple[Column, list[tuple[str, Column]]]]:
    """Series with the categories that they share; one that names none has those before it."""
    groups: list[tuple[Column, list[tuple[str, Column]]]] = []
    for series in chart.iter(_C + "ser"):
        categories = _column(series, _CATEGORIES)
        if not groups or (categories and categories != groups[-1][0]):
            groups.append((categories, []))
        groups[-1][1].append((_name(series), _column(series, _VALUES)))
    return groups


def _title(element: etree._Element | None) -> str:
    title = element.find(_C + "title") if element is not None else None
    return fold("".join(text.text or "" for text in title.iter(_TEXT))) if title is not None else ""


def _name(series: etree._Element) -> str:
    name = series.find(_C + "tx")
    texts = (value.text or "" for value in name.iter(_C + "v")) if name is not None else ()
    return fold(" ".join(texts))


def _column(series: etree._Element, tags: tuple[str, ...]) -> Column:
    found = next((part for tag in tags if (part := series.find(_C + tag)) is not None), None)
    if found is None:
        return {}
    levels = [_points(level, "") for level in found.iter(_C + "lvl")]
    if levels:
        return _nested(levels)
    number_format = next((code.text or "" for code in found.iter(_C + "formatCode")), "")
    return _points(found, number_format)


def _points(element: etree._Element, number_format: str) -> Column:
    numbers = any(element.find(f".//{_C}{tag}") is not None for tag in ("numCache", "numLit"))
    points = {}
    for point in element.iter(_C + "pt"):
        text = fold(point.findtext(_C + "v") or "")
        own = point.get("formatCode", number_format)
        points[int(point.get("idx", 0))] = _number(text, own) if numbers else text
    return points


def _number(text: str, number_format: str) -> str:
    try:
        value = float(text)
        if is_date_format(number_format):
            return date_text(from_excel(value), number_format)
        return number_text(value, number_format or "General")
    except (ValueError, OverflowError):  # "#N/A" and the like
        return text


def _nested(levels: list[Column]) -> Column:
    """Categories in levels, the innermost first; an outer one stands for those that follow it."""
    inner, *outer = levels
    named: Column = {}
    above = [""] * len(outer)
    for point in sorted(inner):
        above = [level.get(point, before) for level, before in zip(outer, above, strict=True)]
        named[point] = " / ".join(filter(None, [*reversed(above), inner[point]]))
    return named
