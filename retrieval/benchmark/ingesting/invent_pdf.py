"""An invented PDF of any length: text in columns of lines, a running header, page numbers.

Written object by object, for no library here writes PDF. The font is one of those that every reader
has; letters that it lacks are named in its encoding and told in its map to Unicode.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from textwrap import wrap

from retrieval.benchmark.loading.invent import Inventor

LINE_LETTERS, PASSAGES_A_PAGE = 90, 6
TURKISH = {"ğ": "gbreve", "Ğ": "Gbreve", "ı": "dotlessi", "İ": "Idotaccent", "ş": "scedilla",
           "Ş": "Scedilla", "ç": "ccedilla", "Ç": "Ccedilla", "ö": "odieresis", "Ö": "Odieresis",
           "ü": "udieresis", "Ü": "Udieresis"}  # fmt: skip
_FIRST = 128
_CODES = {letter: _FIRST + n for n, letter in enumerate(TURKISH)}
_CATALOGUE, _PAGES, _FONT, _MAP, _FIRST_PAGE = 1, 2, 3, 4, 5


def pdf(pages: int, inventor: Inventor) -> bytes:
    objects = {
        _CATALOGUE: b"<</Type/Catalog/Pages 2 0 R>>",
        _PAGES: _page_tree(pages),
        _FONT: _font(),
        _MAP: _stream(_to_unicode()),
    }
    for number in range(pages):
        page, content = _FIRST_PAGE + 2 * number, _FIRST_PAGE + 2 * number + 1
        objects[page] = (
            b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Resources<</Font<</F1 3 0 R>>>>"
            b"/Contents %d 0 R>>" % content
        )
        objects[content] = _stream(b"\n".join(_lines(number, inventor)))
    return _file(objects)


def _page_tree(pages: int) -> bytes:
    kids = b" ".join(b"%d 0 R" % (_FIRST_PAGE + 2 * n) for n in range(pages))
    return b"<</Type/Pages/Count %d/Kids[%s]>>" % (pages, kids)


def _font() -> bytes:
    names = "/".join(TURKISH.values()).encode()
    return (
        b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 4 0 R/Encoding<</Type/Encoding"
        b"/BaseEncoding/WinAnsiEncoding/Differences[%d/%s]>>>>" % (_FIRST, names)
    )


def _to_unicode() -> bytes:
    pairs = "\n".join(f"<{code:02x}> <{ord(letter):04x}>" for letter, code in _CODES.items())
    return (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Own def "
        "1 begincodespacerange <00> <ff> endcodespacerange\n"
        f"{len(_CODES)} beginbfchar\n{pairs}\nendbfchar\n"
        "1 beginbfrange <20> <7e> <0020> endbfrange\nendcmap end end"
    ).encode()


def _lines(number: int, inventor: Inventor) -> Iterator[bytes]:
    yield _text(50, 810, 8, "Müşteri el kitabı, bölüm 1")
    height = 780
    for place in range(PASSAGES_A_PAGE):
        if place % 3 == 0:
            yield _text(50, height, 13, " ".join(inventor.some_words(3)).capitalize())
            height -= 20
        for line in wrap(inventor.text(), LINE_LETTERS):
            yield _text(50, height, 10, line)
            height -= 13
        height -= 8
    yield _text(290, 25, 8, str(number + 1))


def _text(x: int, y: int, size: int, text: str) -> bytes:
    codes = bytes(_CODES.get(letter, ord(letter)) for letter in text)
    shown = codes.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)")
    return b"BT /F1 %d Tf %d %d Td (%s) Tj ET" % (size, x, y, shown)


def _stream(data: bytes) -> bytes:
    packed = zlib.compress(data)
    head = b"<</Length %d/Filter/FlateDecode>>stream\n" % len(packed)
    return head + packed + b"\nendstream"


def _file(objects: dict[int, bytes]) -> bytes:
    out, places = bytearray(b"%PDF-1.7\n"), []
    for number in sorted(objects):
        places.append(len(out))
        out += b"%d 0 obj" % number + objects[number] + b"endobj\n"
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, table)
    return bytes(out)
