"""Deliver: a page's content, without what repeats across the website, is received as a document."""

from __future__ import annotations

from collections.abc import Sequence

from ingestion.crawl import boilerplate
from ingestion.crawl.content import name_of, unpacked, write_page
from ingestion.crawl.frontier import Walk
from ingestion.crawl.models import Page
from ingestion.parsing import Block, parse
from ingestion.parsing.media_type import HTML
from ingestion.receive import receive


def deliver(walk: Walk, page: Page, title: str, blocks: Sequence[Block]) -> None:
    """Sets the page's document. The same content again makes no job. Raises what `receive` does."""
    repeated = walk.repeated or frozenset()
    page.dropped = sorted(repeated.intersection(page.blocks))
    kept = boilerplate.without(blocks, repeated) if page.dropped else blocks
    page.repeated_blocks = len(blocks) - len(kept)
    page.repeated_characters = _characters(blocks) - _characters(kept)
    job = receive(
        walk.sync.agent,
        name=name_of(page.url, is_page=True),
        data=write_page(title, kept),
        uri=page.url,
    )
    page.document_id = job.document_id


def _characters(blocks: Sequence[Block]) -> int:
    return sum(len(block.all_text()) for block in blocks)


def deliver_held(walk: Walk, page: Page) -> None:
    """As `deliver`, from the content that the row holds."""
    parsed = parse(unpacked(page.content), name_of(page.url, is_page=True), media_type=HTML)
    deliver(walk, page, parsed.title, parsed.blocks)


def deliver_file(walk: Walk, page: Page, body: bytes) -> None:
    """A file linked from a page, byte for byte."""
    name = name_of(page.url, is_page=False)
    job = receive(walk.sync.agent, name=name, data=body, uri=page.url)
    page.document_id = job.document_id
