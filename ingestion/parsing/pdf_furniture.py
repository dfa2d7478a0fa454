"""Running headers, footers and page numbers: what repeats at the edges of pages.

The first and last lines of each page are compared with those of the others, figures set aside.
What stands at the same height on several pages goes, as do numbers of pages.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from .pdf_page import PageText, Run
from .pdf_tables import lines_of

_EDGE_LINES = 3
_EDGE = 0.13
_FIGURES = re.compile(r"\d+")
_LONGEST_NUMBER = 60  # of a line that is a page's number; the pattern is slow on long blanks
_PAGE_NUMBER = re.compile(
    r"^\W*(?:sayfa|page|s\.|p\.)?\s*(?:\d{1,4}|[ivxl]{1,6})(?:\s*(?:[/|]|of|-)\s*\d{1,4})?\W*$",
    re.I,
)
# What browsers print above and below a page: a date and time, an address and a page's number.
_BROWSER = re.compile(
    r"^\d{1,2}[./]\d{1,2}[./]\d{2,4},? \d{1,2}[:.]\d{2}\b|^(?:https?|file)://\S+\s+\d+/\d+$"
)


def remove_furniture(pages: list[PageText]) -> int:
    """Remove repeated lines from the pages in place; how many lines went."""
    edges = [list(_edge_lines(page)) for page in pages]
    keys = Counter(key for lines in edges for key in {_key(line) for line in lines})
    numbers = sum(any(_is_number(line) for line in lines) for lines in edges)
    enough = 2 if len(pages) <= 5 else 3
    removed = 0
    for page, lines in zip(pages, edges, strict=True):
        gone: set[int] = set()
        for line in lines:
            repeated = keys[_key(line)] >= enough or (numbers >= 2 and _is_number(line))
            if repeated or _BROWSER.match(_text(line)):
                gone.update(map(id, line))
                removed += 1
        page.runs = [run for run in page.runs if id(run) not in gone]
    return removed


def _edge_lines(page: PageText) -> Iterator[list[Run]]:
    """Lines near the page's edges, but for those in a table: its header row repeats by right."""
    lines = lines_of(page.runs)
    for line in lines[:_EDGE_LINES]:
        if line[0].bottom < _EDGE * page.height and not _in_table(line, page):
            yield line
    for line in lines[max(_EDGE_LINES, len(lines) - _EDGE_LINES) :]:
        if line[0].top > (1 - _EDGE) * page.height and not _in_table(line, page):
            yield line


def _in_table(line: list[Run], page: PageText) -> bool:
    return any(rule.vertical and rule.y0 <= line[0].middle <= rule.y1 for rule in page.rules)


def _text(line: list[Run]) -> str:
    return " ".join(run.text for run in line)


def _key(line: list[Run]) -> tuple[str, int]:
    """What makes two lines the same: their text without figures, and their height."""
    return _FIGURES.sub("#", _text(line)), round(line[0].bottom / 4)


def _is_number(line: list[Run]) -> bool:
    text = _text(line)
    return len(text) <= _LONGEST_NUMBER and bool(_PAGE_NUMBER.match(text))
