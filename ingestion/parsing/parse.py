"""Bytes of one file in, a readable document and a report out, or an error that says why not.

The reader of the file's kind finds blocks; here they are measured and judged, so that no kind can
pass empty or garbled text.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from . import media_type as kinds
from .blocks import Block, BlockKind, ParsedDocument, Reading, Report
from .clean import fold
from .delimited import read_delimited
from .docx import read_docx
from .eml import read_eml
from .epub import read_epub
from .errors import GarbledText, NoContent, ParsingError, TooComplex, UnsupportedMediaType
from .garble import THRESHOLD, garble_ratio
from .html import read_html
from .language import detect_language
from .limits import Limits
from .markdown import read_markdown
from .media_type import detect_media_type
from .odt import read_odt
from .pairs import read_json
from .pdf import read_pdf
from .pptx import read_pptx
from .progress import Progress, silent
from .rtf import read_rtf
from .text import read_text
from .xlsx import read_xlsx

Reader = Callable[[bytes, Limits], Reading]
PagedReader = Callable[[bytes, Limits, Progress], Reading]

READERS: dict[str, Reader] = {
    kinds.TEXT: read_text,
    kinds.MARKDOWN: read_markdown,
    kinds.HTML: read_html,
    kinds.DOCX: read_docx,
    kinds.PDF: read_pdf,
    kinds.XLSX: read_xlsx,
    kinds.CSV: read_delimited,
    kinds.JSON: read_json,
    kinds.PPTX: read_pptx,
    kinds.ODT: read_odt,
    kinds.RTF: read_rtf,
    kinds.EPUB: read_epub,
    kinds.EML: read_eml,
}
# Those whose pages take long enough to be told of one by one.
PAGED: dict[str, PagedReader] = {kinds.PDF: read_pdf}
_PLAIN = frozenset({kinds.TEXT, kinds.MARKDOWN, kinds.HTML, kinds.CSV, kinds.JSON})
_SAMPLE = 400_000


def parse(
    data: bytes,
    name: str = "",
    *,
    media_type: str | None = None,
    limits: Limits = Limits(),  # noqa: B008 - frozen
    progress: Progress = silent,
) -> ParsedDocument:
    """Read one file. `name` is its file name, used for a title and to tell kinds of text apart.
    `progress` is told in pages while those are read one by one.

    Raises a subclass of `errors.ParsingError`; one raised after reading has `report` in `context`.
    An archive is not a document: give its `members` one by one.
    """
    kind = media_type or detect_media_type(data, name)
    reader = READERS.get(kind)
    if reader is None:
        raise UnsupportedMediaType(
            "An archive's files are read one by one." if kind == kinds.ZIP else ""
        )
    paged = PAGED.get(kind)
    reading = paged(data, limits, progress) if paged else reader(data, limits)
    if kind in _PLAIN and (nuls := _stray_nuls(data, reading)):
        reading = replace(reading, warnings=(*reading.warnings, nuls))
    report = _report(reading, kind)
    _judge(reading, report, limits)
    return ParsedDocument(_title(reading, name, kind), reading.blocks, report, reading.pairs)


def _stray_nuls(data: bytes, reading: Reading) -> str:
    """What is said of NUL characters that were left out; UTF-16 has NULs of its own."""
    nuls = 0 if (reading.charset or "").startswith(("utf-16", "utf-32")) else data.count(0)
    return f"Damaged characters (NUL) were left out: {nuls:,}." if nuls else ""


def _report(reading: Reading, kind: str) -> Report:
    texts = [block.all_text() for block in reading.blocks]
    sample = "\n".join(texts)[:_SAMPLE]
    return Report(
        media_type=kind,
        charset=reading.charset,
        pages=reading.pages,
        pages_without_text=reading.pages_without_text,
        characters=sum(map(len, texts)),
        garble_ratio=round(garble_ratio(sample), 4),
        tables=sum(block.kind is BlockKind.TABLE for block in reading.blocks),
        language=detect_language(sample),
        boilerplate_removed=reading.boilerplate_removed,
        warnings=reading.warnings,
    )


def _judge(reading: Reading, report: Report, limits: Limits) -> None:
    """Refuse what must not become passages."""
    error: ParsingError | None = None
    found = report.as_dict()
    if report.characters > limits.max_characters:
        error = TooComplex(
            f"It holds more than {limits.max_characters:,} characters.", report=found
        )
    elif not any(any(c.isalnum() for c in block.all_text()) for block in reading.blocks):
        error = NoContent(_why_empty(report), report=found)
    elif report.garble_ratio > THRESHOLD:
        share = f"{report.garble_ratio:.0%}".replace("%", " percent")
        error = GarbledText(f"About {share} of it is unreadable.", report=found)
    if error:
        raise error


def _why_empty(report: Report) -> str:
    if report.pages_without_text:
        return (
            f"All of its {report.pages} pages are pictures, as scanners make them; "
            "upload a version with text."
        )
    return ""


def _title(reading: Reading, name: str, kind: str) -> str:
    """The file's own title, else its first top heading, else its name without the extension."""
    # A sheet's name or the first of many questions says little of the whole file.
    untitled = bool(reading.pairs) or kind == kinds.XLSX
    return (
        reading.title
        or ("" if untitled else _first_heading(reading.blocks))
        or fold(PurePosixPath(name.replace("\\", "/")).stem.replace("_", " "))
    )


def _first_heading(blocks: tuple[Block, ...]) -> str:
    """The first heading, when it opens the document."""
    opening = [block for block in blocks[:3] if block.kind is BlockKind.HEADING]
    return min(opening, key=lambda block: block.level).text if opening else ""
