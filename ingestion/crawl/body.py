"""The body of a response, unpacked, within its bounds.

Bytes are counted as they come and again as they unpack, so neither a body without end nor a small
one that unpacks to gigabytes holds more memory than its limit.
"""

from __future__ import annotations

import http.client
import zlib
from collections.abc import Callable, Iterator

from ingestion.crawl.errors import BrokenResponse, PageTooLarge

BLOCK = 64 * 1024
GZIP_MAGIC = b"\x1f\x8b"
UNPACKED = {"gzip", "x-gzip", "deflate"}
# What nobody asked for. Any other word, such as `utf-8` or `none`, is a mistake of the server's.
PACKED = UNPACKED | {"br", "zstd", "compress", "x-compress", "bzip2", "xz", "lzma", "dcb", "dcz"}


def read_body(
    response: http.client.HTTPResponse,
    limit: int,
    check: Callable[[], object],
    *,
    cut: bool = False,
) -> bytes:
    """At most `limit` bytes, packed and unpacked; of a longer body the first of them when it may be
    `cut`. `check` may raise between blocks.

    Raises `PageTooLarge` and `BrokenResponse`.
    """
    announced = response.length
    if announced is not None and announced > limit and not cut:
        raise PageTooLarge
    named = (response.getheader("Content-Encoding") or "").lower().split(",")
    packings = [word.strip() for word in named if word.strip() in PACKED]
    blocks = _blocks(response, limit, check, cut=cut)
    if not packings:
        return b"".join(blocks)[:limit]
    if len(packings) == 1 and packings[0] in UNPACKED:
        return unpack(blocks, limit, cut=cut)
    raise BrokenResponse(f"It is packed as {', '.join(packings)[:40]}, which nobody asked for.")


def unpack(blocks: Iterator[bytes], limit: int, *, cut: bool = False) -> bytes:
    """Gzip, zlib or bare deflate, one member after another. Raises as `read_body`."""
    out = bytearray()
    engine = None
    for block in blocks:
        while block:
            engine = engine or _engine(block)
            try:
                out += engine.decompress(block, limit + 1 - len(out))
            except zlib.error as error:
                raise BrokenResponse("Its packed body is damaged.") from error
            if len(out) > limit:
                if cut:
                    return bytes(out[:limit])
                raise PageTooLarge
            if not engine.eof:
                break
            block = engine.unused_data.lstrip(b"\0")
            engine = None
    if engine is not None:
        raise BrokenResponse("Its packed body broke off.")
    return bytes(out)


def _engine(block: bytes) -> zlib._Decompress:
    """Servers say "deflate" for zlib and for bare deflate alike; the first bytes tell."""
    is_zlib = len(block) > 1 and block[0] & 0x0F == 8 and (block[0] * 256 + block[1]) % 31 == 0
    return zlib.decompressobj(47 if block.startswith(GZIP_MAGIC[:1]) or is_zlib else -15)


def _blocks(
    response: http.client.HTTPResponse, limit: int, check: Callable[[], object], *, cut: bool
) -> Iterator[bytes]:
    total = 0
    while block := response.read(BLOCK):
        total += len(block)
        if total > limit and not cut:
            raise PageTooLarge
        check()
        yield block
        if total > limit:
            return
    if response.length:
        raise BrokenResponse("It broke off before its announced end.")
