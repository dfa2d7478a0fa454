"""PDF: text with its page numbers, in reading order, headings by the size of their letters.

pdfium reads the pages; `pdf_page` makes runs of text out of them, `pdf_furniture` removes what
repeats at the edges, `pdf_layout` finds columns, paragraphs and tables. Here sizes become heading
levels and paragraphs that run over a page's end are joined. Pages that are only pictures go
through OCR where Tesseract is installed, and are reported otherwise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pypdfium2.raw as pdfium
from pypdfium2 import PdfDocument, PdfiumError

from .blocks import Block, BlockKind, Reading
from .clean import fold
from .errors import BrokenFile, PasswordProtected, TooComplex
from .limits import Deadline, Limits
from .ocr import recognise, tesseract_is_installed
from .pdf_furniture import remove_furniture
from .pdf_layout import Paragraph, TableItem, read_layout
from .pdf_page import PageText, read_page
from .progress import Pages, Progress, silent
from .tables import looks_like_header, table_block

_LARGER = 1.12
_LONGEST_HEADING = 200
_LONGEST_BOLD_HEADING = 100
_SAME_SIZE = 0.8

Item = Paragraph | TableItem


def read_pdf(data: bytes, limits: Limits, progress: Progress = silent) -> Reading:
    """The blocks of a PDF. Raises PasswordProtected, BrokenFile, or TooComplex."""
    document = _open(data)
    try:
        return _read(document, limits, progress)
    finally:
        document.close()


def _open(data: bytes) -> PdfDocument:
    try:
        return PdfDocument(data)
    except PdfiumError as error:
        if getattr(error, "err_code", None) == pdfium.FPDF_ERR_PASSWORD:
            raise PasswordProtected() from error
        raise BrokenFile() from error


def _read(document: PdfDocument, limits: Limits, progress: Progress) -> Reading:
    count = len(document)
    if count > limits.max_pages:
        raise TooComplex(f"It has {count:,} pages; {limits.max_pages:,} can be read at a time.")
    counter = Pages(count, progress)
    pages, broken = _pages(document, limits, counter)
    blank = [page.number for page in pages if not page.runs]
    removed = remove_furniture(pages)
    items = [item for page in pages for item in read_layout(page)]
    blocks = list(_blocks(_joined(items)))
    scanned = [number for number in blank if _has_picture(document, number)]
    counter.more(len(blank) - len(scanned))  # there is nothing on those
    recognised, unread, warnings = _recognise(document, scanned, limits, counter)
    warnings += tuple(f"Page {number} is damaged and was left out." for number in broken)
    if recognised:
        blocks = sorted([*blocks, *recognised], key=lambda block: block.page or 0)
    title = fold((document.get_metadata_dict() or {}).get("Title", ""))
    return Reading(
        tuple(blocks),
        _title(title, blocks),
        pages=count,
        pages_without_text=tuple(sorted({*unread, *(set(blank) - set(scanned))})),
        boilerplate_removed=removed,
        warnings=warnings,
    )


def _pages(
    document: PdfDocument, limits: Limits, counter: Pages
) -> tuple[list[PageText], list[int]]:
    """All pages that can be read, and the numbers of those that cannot. Those without text are
    not done yet."""
    deadline = Deadline(limits.seconds)
    pages, broken, characters = [], [], 0
    for number in range(1, len(document) + 1):
        deadline.check()
        try:
            page = document[number - 1]
        except PdfiumError:
            broken.append(number)
            counter.more()
            continue
        pages.append(read_page(page, number))
        page.close()
        characters += sum(len(run.text) for run in pages[-1].runs)
        if characters > limits.max_characters:
            raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
        if pages[-1].runs:
            counter.more()
    if broken and not pages:
        raise BrokenFile()
    return pages, broken


def _has_picture(document: PdfDocument, number: int) -> bool:
    """Whether a page without text shows anything at all."""
    page = document[number - 1]
    try:
        return next(iter(page.get_objects(max_depth=2)), None) is not None
    finally:
        page.close()


def _recognise(
    document: PdfDocument, scanned: Sequence[int], limits: Limits, counter: Pages
) -> tuple[list[Block], list[int], tuple[str, ...]]:
    """`(blocks, pages that stay without text, warnings)` of pages that are pictures."""
    if not scanned:
        return [], [], ()
    if not limits.ocr or not tesseract_is_installed():
        counter.more(len(scanned))
        return [], list(scanned), ("Scanned pages were not read: OCR is not installed.",)
    blocks: list[Block] = []
    unread = list(scanned[limits.max_ocr_pages :])
    counter.more(len(unread))
    deadline = Deadline(limits.seconds)
    for number in scanned[: limits.max_ocr_pages]:
        found = [] if deadline.passed else recognise(document[number - 1], limits.ocr_page_seconds)
        blocks.extend(replace(block, page=number) for block in found)
        if not found:
            unread.append(number)
        counter.more()
    return blocks, unread, (f"{len(scanned)} scanned pages were read by OCR; check their text.",)


def _joined(items: Sequence[Item]) -> list[Item]:
    """Items with paragraphs and tables that run over a page's end made one, or given a header."""
    joined: list[Item] = []
    header: list[str] | None = None
    for item in items:
        last = joined[-1] if joined else None
        if isinstance(item, Paragraph) and isinstance(last, Paragraph) and _runs_on(last, item):
            last.text = f"{last.text} {item.text}"
            continue
        if isinstance(item, TableItem):
            header = _continued(last, item, header)
        joined.append(item)
    return joined


def _runs_on(last: Paragraph, item: Paragraph) -> bool:
    """A paragraph without an end, followed in the next column or page by one that begins small."""
    elsewhere = item.page == last.page + 1 or (item.page == last.page and item.top < last.top)
    if not elsewhere or item.item or abs(item.size - last.size) > _SAME_SIZE:
        return False
    return last.text[-1:].isalnum() | last.text.endswith((",", ";")) and item.text[:1].islower()


def _continued(last: Item | None, item: TableItem, header: list[str] | None) -> list[str] | None:
    """Give a table that goes on from the page before its column names; the names now valid."""
    first = item.rows[0]
    follows = isinstance(last, TableItem) and item.page == last.page + 1
    has_own = item.header == 1 or (item.header is None and looks_like_header(item.rows))
    if has_own:
        item.header = 1
        if isinstance(last, TableItem) and follows and first == header:
            _mend_row(last, item)
        return first
    if follows and header is not None and len(header) == len(first):
        item.rows.insert(0, header)
        item.header = 1
        return header
    item.header = 0
    return None


def _mend_row(last: TableItem, item: TableItem) -> None:
    """Return the rest of a row that a page's end has cut: it has no first cell."""
    if len(item.rows) > 1 and not item.rows[1][0] and len(last.rows[-1]) == len(item.rows[1]):
        rest = item.rows.pop(1)
        pairs = zip(last.rows[-1], rest, strict=True)
        last.rows[-1] = [f"{above} {below}".strip() for above, below in pairs]


def _blocks(items: Sequence[Item]) -> Iterator[Block]:
    levels = _Levels([item for item in items if isinstance(item, Paragraph)])
    for item in items:
        if isinstance(item, TableItem):
            block = table_block(item.rows, page=item.page, header_rows=item.header)
            if block:
                yield block
        elif text := fold(item.text):
            level = levels.of(item)
            kind = BlockKind.LIST_ITEM if item.item else BlockKind.PARAGRAPH
            yield Block(BlockKind.HEADING if level else kind, text, level, item.page)


class _Levels:
    """Heading levels by size: the largest letters are level 1; bold lines come after."""

    def __init__(self, paragraphs: Sequence[Paragraph]) -> None:
        sizes: Counter[float] = Counter()
        for paragraph in paragraphs:
            sizes[round(paragraph.size, 1)] += len(paragraph.text)
        self._body = sizes.most_common(1)[0][0] if sizes else 0.0
        self._sizes: list[float] = []
        for paragraph in sorted(paragraphs, key=lambda p: -p.size):
            if self._is_large(paragraph) and (
                not self._sizes or self._sizes[-1] - paragraph.size > _SAME_SIZE
            ):
                self._sizes.append(paragraph.size)
        total = sum(sizes.values())
        bold = sum(len(p.text) for p in paragraphs if p.bold)
        self._bold_means_heading = bold < 0.3 * total

    def of(self, paragraph: Paragraph) -> int:
        """1..6 for a heading, else 0."""
        if self._is_large(paragraph):
            above = sum(size - paragraph.size > _SAME_SIZE for size in self._sizes)
            return min(6, above + 1)
        return min(6, len(self._sizes) + 1) if self._is_bold_heading(paragraph) else 0

    def _is_large(self, paragraph: Paragraph) -> bool:
        large = paragraph.size > _LARGER * self._body and len(paragraph.text) <= _LONGEST_HEADING
        return large and any(c.isalpha() for c in paragraph.text)

    def _is_bold_heading(self, paragraph: Paragraph) -> bool:
        return (
            self._bold_means_heading
            and paragraph.bold
            and paragraph.size >= 0.95 * self._body
            and len(paragraph.text) <= _LONGEST_BOLD_HEADING
            and not paragraph.text.endswith((".", ",", ";", ":"))
            and any(c.isalpha() for c in paragraph.text)
        )


def _title(title: str, blocks: Sequence[Block]) -> str:
    """The first large heading, else the title property unless it is a file's name."""
    first = next((b for b in blocks[:4] if b.kind is BlockKind.HEADING and b.level == 1), None)
    if first:
        return first.text
    return "" if title.lower().endswith((".doc", ".docx", ".pdf", ".indd", ".rtf")) else title
