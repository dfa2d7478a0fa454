"""The content of a page as a page of its own: what ingestion receives, and what is compared.

Blocks are written as the plainest HTML that reads back to the same blocks, so a page is known by
what it says: a new token in a form or a new date in the footer's markup changes nothing.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import PurePosixPath
from urllib.parse import unquote, urlsplit

from ingestion.parsing import Block, BlockKind


def write_page(title: str, blocks: Iterable[Block]) -> bytes:
    """UTF-8 HTML."""
    body = "\n".join(_written(blocks))
    return (
        f'<!DOCTYPE html>\n<html><head><meta charset="utf-8"><title>{escape(title)}</title></head>'
        f"\n<body><main>\n{body}\n</main></body></html>\n"
    ).encode()


def fingerprint(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def packed(data: bytes) -> bytes:
    return zlib.compress(data, 6)


def unpacked(data: bytes | memoryview) -> bytes:
    return zlib.decompress(bytes(data))


def name_of(url: str, *, is_page: bool) -> str:
    """A file name for an address: its last part, or its host for the top of a site."""
    parts = urlsplit(url)
    name = unquote(PurePosixPath(parts.path).name, errors="replace").strip(". ") or parts.netloc
    if is_page and not name.lower().endswith((".html", ".htm", ".xhtml")):
        return f"{name[:200]}.html"
    return name[-200:]


def _written(blocks: Iterable[Block]) -> Iterator[str]:
    in_list = False
    for block in blocks:
        is_item = block.kind is BlockKind.LIST_ITEM
        if is_item != in_list:
            yield "<ul>" if is_item else "</ul>"
            in_list = is_item
        yield _block(block)
    if in_list:
        yield "</ul>"


def _block(block: Block) -> str:
    match block.kind:
        case BlockKind.HEADING:
            level = min(6, max(1, block.level))
            return f"<h{level}>{escape(block.text)}</h{level}>"
        case BlockKind.LIST_ITEM:
            return f"<li>{escape(block.text)}</li>"
        case BlockKind.CODE:
            return f"<pre>\n{escape(block.text)}</pre>"
        case BlockKind.TABLE:
            return _table(block)
        case _:
            return f"<p>{escape(block.text)}</p>"


def _table(block: Block) -> str:
    caption = f"<caption>{escape(block.caption)}</caption>" if block.caption else ""
    head = f"<thead>{_row(block.header, 'th')}</thead>" if block.header else ""
    rows = "\n".join(_row(row, "td") for row in block.rows)
    return f"<table>{caption}{head}<tbody>{rows}</tbody></table>"


def _row(cells: tuple[str, ...], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"
