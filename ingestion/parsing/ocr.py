"""Text of scanned pages, by Tesseract in Turkish and English, where it is installed.

The page is rendered by pdfium and piped to the program; a page that takes too long stays unread.
Words that Tesseract itself doubts are not filtered: the report warns, and garbled text is refused
like any other.
"""

from __future__ import annotations

import io
import shutil
import struct
import subprocess
import zlib
from collections.abc import Iterator
from functools import cache

from pypdfium2 import PdfPage

from .blocks import Block, BlockKind
from .clean import fold
from .pdf_layout import BULLET, SIGN
from .pdf_tables import join_lines

_LANGUAGES = ("tur", "eng")
_DOTS_PER_INCH = 300
# An A4 page at 300 dots is 8.7 million; larger pages are rendered more coarsely.
_MAX_PIXELS = 12_000_000


def tesseract_is_installed() -> bool:
    """Whether the program can be run here."""
    return shutil.which("tesseract") is not None


@cache
def _languages() -> str:
    """Those of our languages that are installed, as Tesseract wants them ("tur+eng")."""
    listed = _run(["--list-langs"], b"", 10.0).decode("utf-8", "replace").split()
    return "+".join(code for code in _LANGUAGES if code in listed)


def recognise(page: PdfPage, seconds: float) -> list[Block]:
    """The paragraphs and list items on a picture of a page; empty when time ran out."""
    languages = _languages()
    if not languages:
        return []
    image = _picture(page)
    text = _run(["stdin", "stdout", "-l", languages, "--psm", "3"], image, seconds)
    groups = text.decode("utf-8", "replace").replace("\f", "\n").split("\n\n")
    return [block for group in groups for block in _blocks(group.splitlines())]


def _blocks(lines: list[str]) -> Iterator[Block]:
    """The paragraph of neighbouring lines, or the list items that they begin."""
    parts: list[list[str]] = []
    for line in filter(None, map(fold, lines)):
        if not parts or BULLET.match(line):
            parts.append([])
        parts[-1].append(line)
    for part in parts:
        kind = BlockKind.LIST_ITEM if BULLET.match(part[0]) else BlockKind.PARAGRAPH
        text = fold(SIGN.sub("", join_lines(part)))
        if any(c.isalnum() for c in text):
            yield Block(kind, text)


def _run(arguments: list[str], data: bytes, seconds: float) -> bytes:
    program = shutil.which("tesseract")
    if program is None:
        return b""
    try:
        done = subprocess.run(  # noqa: S603 - a fixed program, no shell, fixed arguments
            [program, *arguments], input=data, capture_output=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return b""
    return done.stdout


def _picture(page: PdfPage) -> bytes:
    """A grey PNG of a page."""
    width, height = page.get_size()
    scale = _DOTS_PER_INCH / 72
    pixels = width * height * scale * scale
    if pixels > _MAX_PIXELS:
        scale *= (_MAX_PIXELS / pixels) ** 0.5
    bitmap = page.render(scale=scale, grayscale=True)
    try:
        return _png(bytes(bitmap.buffer), bitmap.width, bitmap.height, bitmap.stride)
    finally:
        bitmap.close()


def _png(pixels: bytes, width: int, height: int, stride: int) -> bytes:
    """Grey pixels as PNG, so that no imaging library is needed for it."""
    rows = b"".join(b"\0" + pixels[y * stride : y * stride + width] for y in range(height))
    out = io.BytesIO(b"")
    out.write(b"\x89PNG\r\n\x1a\n")
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    for kind, body in ((b"IHDR", header), (b"IDAT", zlib.compress(rows, 1)), (b"IEND", b"")):
        out.write(struct.pack(">I", len(body)) + kind + body)
        out.write(struct.pack(">I", zlib.crc32(kind + body)))
    return out.getvalue()
