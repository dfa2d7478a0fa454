"""HTML: the content of a page as blocks, read by lxml.

The walk keeps one buffer of inline text and flushes it whenever a block begins or ends, so text
outside of any paragraph is kept as well. Tables that only arrange the page (one cell, or holding
headings or other tables around) are walked like any other box. A `summary` is a heading for what
it opens; a `dt` is joined with its `dd`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from lxml import etree
from lxml import html as lxml_html
from lxml.html import HtmlElement

from .blocks import Block, BlockKind, Reading
from .charset import decode
from .clean import fold, keep_lines, strip_marks, words
from .errors import BrokenFile, NeedsJavaScript, NoContent, TooComplex
from .html_main import remove_boilerplate
from .html_tables import data_table, is_layout
from .limits import Limits

_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([A-Za-z0-9_.:-]+)""", re.I)
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")
_INLINE = words(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q ruby "
    "rb rp rt s samp small span strike strong sub sup time tt u var wbr img"
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_JAVASCRIPT = re.compile(r"javascript", re.I)
_APP_ROOTS = words("root app __next __nuxt ___gatsby")
_IDS = etree.XPath("//@id", smart_strings=False)
_NOTE_MARK = re.compile(r"^\s*\[?(?:\d{1,3}|[ivx]{1,5}|[*†‡a-z])\]?\s*$")
_ROLE = "epub:type"
_SITE_NAME = re.compile(r"\s+[|»–—·•-]\s+")


def read_html(data: bytes, limits: Limits) -> Reading:
    """The content of a page. Raises NeedsJavaScript or NoContent when there is none."""
    declared = _DECLARED.search(data[:4096])
    text, charset = decode(data, declared.group(1).decode("ascii") if declared else None)
    if len(text) > limits.max_characters:
        raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
    page = _tree(text)
    held = list(page.iter())  # lxml makes an element anew each time that nobody holds it
    title = fold(page.findtext(".//title") or "")
    body = page.find("body") if page.find("body") is not None else page
    needs_script = _needs_javascript(page)
    root, removed = remove_boilerplate(body)
    blocks = tuple(_Walk().blocks(root))
    del held
    if not any(block.all_text() for block in blocks):
        if needs_script:
            raise NeedsJavaScript()
        raise NoContent("The page holds only navigation and notices." if removed else "")
    if needs_script and sum(len(block.all_text()) for block in blocks) < 80:
        raise NeedsJavaScript()
    return Reading(blocks, _title(title, blocks), charset, boilerplate_removed=removed)


def fragment_blocks(text: str) -> list[Block]:
    """The blocks of a piece of HTML that has no page around it; nothing is taken as boilerplate."""
    root = _tree(f"<html><body>{text}</body></html>").find("body")
    etree.strip_elements(root, "script", "style", "template", "noscript", with_tail=False)
    return list(_Walk().blocks(root))


def page_blocks(text: str) -> tuple[list[Block], int]:
    """Blocks of a whole page that is part of something larger, and how much was removed."""
    page = _tree(text)
    body = page.find("body") if page.find("body") is not None else page
    root, removed = remove_boilerplate(body)
    return list(_Walk().blocks(root)), removed


def _tree(text: str) -> HtmlElement:
    parser = lxml_html.HTMLParser(
        encoding="utf-8", huge_tree=False, remove_comments=True, remove_pis=True
    )
    clean = _XML_DECLARATION.sub("", strip_marks(text), count=1)
    try:
        page = lxml_html.document_fromstring(clean.encode("utf-8"), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError) as error:
        raise NoContent() if "empty" in str(error).lower() else BrokenFile() from error
    # The parser stops at a depth of 256 and yields what came before, perhaps nothing.
    last = parser.error_log.last_error
    if last is not None and last.type_name == "ERR_RESOURCE_LIMIT":
        raise TooComplex("Its elements are nested too deeply.")
    return page


def _needs_javascript(page: HtmlElement) -> bool:
    """An empty application root, or a note that asks for JavaScript, beside scripts."""
    if page.find(".//script") is None:
        return False
    notes = " ".join(note.text_content() for note in page.iter("noscript"))
    if _JAVASCRIPT.search(notes):
        return True
    return any(
        not root.text_content().strip()
        for name in _APP_ROOTS.intersection(_IDS(page))
        for root in page.xpath("//*[@id=$name]", name=name)
    )


def _title(title: str, blocks: tuple[Block, ...]) -> str:
    """The first top heading, else the page's title; of that only the part that is a heading."""
    headings = [block for block in blocks if block.kind is BlockKind.HEADING]
    first = next((heading.text for heading in headings if heading.level == 1), "")
    texts = {heading.text for heading in headings}
    return first or next((part for part in _SITE_NAME.split(title) if part in texts), title)


def _is_note_mark(element: HtmlElement) -> bool:
    """The raised number that leads to a footnote, or back from it."""
    if element.tag == "sup":
        linked = element.find(".//a") is not None or element.getparent().tag == "a"
    elif element.tag == "a":
        linked = "sdfootnote" in element.get("class", "") or "noteref" in element.get(_ROLE, "")
    else:
        return False
    return linked and bool(_NOTE_MARK.match(element.text_content()))


class _Walk:
    """Turns one element into blocks; holds the inline text that no block has taken yet."""

    def __init__(self) -> None:
        self._buffer: list[str] = []
        self._items = 0
        self._term = ""
        self._level = 1

    def blocks(self, root: HtmlElement) -> Iterator[Block]:
        yield from self._children(root)
        yield from self._flush()

    def _children(self, element: HtmlElement) -> Iterator[Block]:
        self._buffer.append(element.text or "")
        for child in element:
            if isinstance(child.tag, str):
                yield from self._element(child)
            self._buffer.append(child.tail or "")

    def _element(self, element: HtmlElement) -> Iterator[Block]:
        tag = element.tag
        if tag == "br":
            self._buffer.append(" ")
        elif tag in _INLINE:
            if not _is_note_mark(element):
                yield from self._children(element)
        else:
            yield from self._flush()
            yield from self._block(element, tag)

    def _block(self, element: HtmlElement, tag: str) -> Iterator[Block]:
        if tag in _HEADINGS or tag == "summary":
            yield from self._heading(element, _HEADINGS.get(tag, 0))
        elif tag == "pre":
            if code := keep_lines(element.text_content()):
                yield Block(BlockKind.CODE, code)
        elif tag == "table" and not is_layout(element):
            yield from data_table(element)
        elif tag == "dt":
            yield from self._pending_term()
            self._term = fold(element.text_content())
        elif tag in ("li", "dd"):
            yield from self._item(element)
        else:
            yield from self._children(element)
            yield from self._flush()
            if tag == "dl":
                yield from self._pending_term()

    def _heading(self, element: HtmlElement, level: int) -> Iterator[Block]:
        text = fold(" ".join(element.itertext()))
        if level:
            self._level = level
        if text:
            yield Block(BlockKind.HEADING, text, level or min(6, self._level + 1))

    def _item(self, element: HtmlElement) -> Iterator[Block]:
        self._items += 1
        yield from self._children(element)
        yield from self._flush()
        self._items -= 1

    def _pending_term(self) -> Iterator[Block]:
        """A term without a definition is still text."""
        if self._term:
            yield Block(BlockKind.LIST_ITEM, self._term)
            self._term = ""

    def _flush(self) -> Iterator[Block]:
        text = fold("".join(self._buffer))
        self._buffer.clear()
        if not text:
            return
        if self._term:
            text, self._term = f"{self._term.rstrip(':')}: {text}", ""
        yield Block(BlockKind.LIST_ITEM if self._items else BlockKind.PARAGRAPH, text)
