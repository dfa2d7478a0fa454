"""Read: what an answer holds, apart from what it means. Pure, so it is done while others wait.

A page gives its head and its content, a file only its kind; what cannot be read gives the reason.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ingestion.crawl import boilerplate, sitemap
from ingestion.crawl.content import name_of, write_page
from ingestion.crawl.fetch import Fetched
from ingestion.crawl.normalise import looks_like_sitemap
from ingestion.crawl.page import Head, as_utf8, read_head
from ingestion.parsing import Block, BlockKind, NoContent, ParsingError, detect_media_type, parse
from ingestion.parsing.media_type import HTML

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Content:
    """What a page says: its blocks, their keys, and the page they are written to."""

    title: str
    blocks: Sequence[Block]
    keys: Sequence[int]
    whole: bytes
    charset: str
    boilerplate_removed: int


@dataclass(frozen=True)
class Reading:
    """One answer as it was read. A page has a `head`; `content` or the `error` that says why not.
    Of a file and of a sitemap only `media_type` is known."""

    fetched: Fetched
    media_type: str = ""
    head: Head | None = None
    content: Content | None = None
    error: ParsingError | None = None


def read(fetched: Fetched) -> Reading:
    """Never fails."""
    is_read = 200 <= fetched.status < 300
    if not is_read or looks_like_sitemap(fetched.url) or sitemap.is_sitemap(fetched.body):
        return Reading(fetched)
    try:
        kind = detect_media_type(fetched.body, name_of(fetched.url, is_page=False))
    except ParsingError as error:
        return Reading(fetched, error=error)
    if kind != HTML:
        return Reading(fetched, kind)
    data, charset = as_utf8(fetched.body, fetched.headers)
    head = read_head(data, fetched.url, fetched.headers)
    try:
        return Reading(fetched, kind, head, _content(fetched.url, data, charset))
    except ParsingError as error:
        return Reading(fetched, kind, head, error=error)
    except Exception:
        logger.exception("Page %s could not be read", fetched.url)
        return Reading(fetched, kind, head, error=ParsingError())


def _content(url: str, data: bytes, charset: str) -> Content:
    parsed = parse(data, name_of(url, is_page=True), media_type=HTML)
    if all(block.kind is BlockKind.HEADING for block in parsed.blocks):
        raise NoContent("It holds headings only.")
    keys = sorted({boilerplate.key(block) for block in parsed.blocks})
    whole = write_page(parsed.title, parsed.blocks)
    report = parsed.report
    charset = charset or report.charset or ""
    return Content(parsed.title, parsed.blocks, keys, whole, charset, report.boilerplate_removed)
