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


def read_body(response: http.client.HTTPResponse, limit: int, check: Callable[[], object]) -> bytes:
    """At most `limit` bytes, packed and unpacked. `check` may raise between blocks.

    Raises `PageTooLarge` and `BrokenResponse`.
    """
    announced = response.length
    if announced is not None and announced > limit:
        raise PageTooLarge
    packing = (response.getheader("Content-Encoding") or "identity").strip().lower()
    blocks = _blocks(response, limit, check)
    if packing in {"identity", ""}:
        return b"".join(blocks)
    if packing in {"gzip", "x-gzip", "deflate"}:
        return unpack(blocks, limit)
    raise BrokenResponse(f"It is packed as {packing[:40]}, which nobody asked for.")


def unpack(blocks: Iterator[bytes], limit: int) -> bytes:
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
    response: http.client.HTTPResponse, limit: int, check: Callable[[], object]
) -> Iterator[bytes]:
    total = 0
    while block := response.read(BLOCK):
        total += len(block)
        if total > limit:
            raise PageTooLarge
        check()
        yield block
    if response.length:
        raise BrokenResponse("It broke off before its announced end.")
