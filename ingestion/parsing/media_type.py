"""What a file is, by its bytes. The name only breaks ties among kinds of plain text.

A PDF named .docx is a PDF; a picture named .txt is refused. ZIP packages are told apart by what
they contain. Old binary Office files and other known kinds are refused by name, with the way out.

This runs where uploads are received, so it costs little whatever it is shown: text is judged by its
first 64 KB, in time that grows with them, and a ZIP by a directory of bounded size.
"""

from __future__ import annotations

import json
import re
from itertools import islice
from pathlib import PurePosixPath

from .charset import decode
from .directory import FAILURES, open_zip
from .errors import BrokenFile, EmptyFile, PasswordProtected, UnsupportedMediaType

TEXT = "text/plain"
MARKDOWN = "text/markdown"
HTML = "text/html"
CSV = "text/csv"
JSON = "application/json"
RTF = "application/rtf"
PDF = "application/pdf"
EML = "message/rfc822"
ZIP = "application/zip"
EPUB = "application/epub+zip"
ODT = "application/vnd.oasis.opendocument.text"
_OPEN_XML = "application/vnd.openxmlformats-officedocument."
DOCX = _OPEN_XML + "wordprocessingml.document"
XLSX = _OPEN_XML + "spreadsheetml.sheet"
PPTX = _OPEN_XML + "presentationml.presentation"

_BY_EXTENSION = {
    ".txt": TEXT, ".text": TEXT, ".md": MARKDOWN, ".markdown": MARKDOWN, ".html": HTML,
    ".htm": HTML, ".xhtml": HTML, ".csv": CSV, ".tsv": CSV, ".tab": CSV, ".json": JSON,
    ".eml": EML,
}  # fmt: skip
_MAIN_PARTS = {"word/document.xml": DOCX, "xl/workbook.xml": XLSX, "ppt/presentation.xml": PPTX}
_REFUSED = (
    (b"\x89PNG", "It is a picture (PNG)."),
    (b"\xff\xd8\xff", "It is a picture (JPEG)."),
    (b"GIF8", "It is a picture (GIF)."),
    (b"II*\0", "It is a picture (TIFF)."),
    (b"MM\0*", "It is a picture (TIFF)."),
    (b"BM", "It is a picture (BMP)."),
    (b"7z\xbc\xaf", "It is a 7z archive; pack it as ZIP."),
    (b"Rar!", "It is a RAR archive; pack it as ZIP."),
    (b"\x1f\x8b", "It is a gzip archive; pack it as ZIP."),
    (b"ID3", "It is a sound recording."),
    (b"OggS", "It is a sound recording."),
    (b"\x7fELF", "It is a program."),
    (b"MZ", "It is a program."),
    (b"SQLite format 3", "It is a database."),
)
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_HTML_START = re.compile(r"<(!doctype\s+html|html|head|body)\b", re.I)
_HTML_BEFORE = (("<?xml", ">"), ("<!--", "-->"))
_HTML_TAGS = re.compile(r"<(p|div|h[1-6]|ul|table|article|section|main|title)\b[^<>]*>", re.I)
_MAIL_HEADER = re.compile(
    r"^(from|to|subject|date|mime-version|received|message-id|return-path|delivered-to):", re.I
)
_MARKDOWN_SIGNS = (
    re.compile(r"^#{1,6} \S", re.M),
    re.compile(r"^(```|~~~)", re.M),
    re.compile(r"\[[^\[\]\n]+\]\([^()\s]+[()]"),
    re.compile(r"^\|.*\|[ \t]*+\r?\n\|[ \t:|-]+\|[ \t\r]*$", re.M),
    re.compile(r"\*\*\S[^*\n]*\*\*"),
)
_NOT_BLANK = re.compile(r"\S")
_SAMPLE = 64 * 1024
_LONGEST_ESCAPE = 6  # \u0131


def detect_media_type(data: bytes, name: str = "") -> str:
    """The media type of `data`, one of the constants of this module.

    Raises EmptyFile, UnsupportedMediaType, PasswordProtected (an encrypted Office file) or
    BrokenFile (a ZIP that cannot be opened).
    """
    if not data.strip(b"\0 \t\r\n\xef\xbb\xbf"):
        raise EmptyFile()
    if b"%PDF-" in data[:1024]:
        return PDF
    if data.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _package(data)
    if data.lstrip().startswith(b"{\\rtf"):
        return RTF
    if data.startswith(_OLE):
        _refuse_old_office(data)
    return _text(data, name)


def _package(data: bytes) -> str:
    """The kind of a ZIP package, by its main part."""
    try:
        with open_zip(data) as package:
            names = set(package.namelist())
            kind = (
                package.read("mimetype")[:100].decode("ascii", "replace").strip()
                if ("mimetype" in names and package.getinfo("mimetype").file_size < 1000)
                else ""
            )
    except FAILURES as error:
        raise BrokenFile() from error
    if kind in (ODT, EPUB):
        return kind
    if kind.startswith("application/vnd.oasis"):
        raise UnsupportedMediaType("It is an OpenDocument file other than text; save it as PDF.")
    for part, media_type in _MAIN_PARTS.items():
        if part in names:
            return media_type
    return ZIP


def _refuse_old_office(data: bytes) -> None:
    """Encrypted Office files are wrapped in the old binary container, as are .doc, .xls, .ppt."""
    if "EncryptedPackage".encode("utf-16-le") in data:
        raise PasswordProtected()
    raise UnsupportedMediaType("It is an old Office file; save it as DOCX, XLSX or PPTX.")


def _text(data: bytes, name: str) -> str:
    for start, reason in _REFUSED:
        if data.startswith(start) and not _printable(data[:_SAMPLE]):
            raise UnsupportedMediaType(reason)
    if not _printable(data[:_SAMPLE]):
        raise UnsupportedMediaType("Its content is not text.")
    return _text_kind(data, name)


def _printable(sample: bytes) -> bool:
    """Whether bytes are text in some charset: hardly any control characters once decoded.

    A few NULs are no more than that, nor are those that fill up a file.
    """
    text, charset = decode(sample)
    text = text.rstrip("\0")
    nuls = text.count("\0")
    controls = sum(text.count(chr(code)) for code in (*range(1, 9), *range(14, 32), 127))
    if charset == "utf-8" and controls == nuls == 0:
        return True
    strange = text.count("\ufffd") + sum("\x80" <= c <= "\x9f" for c in text)
    few = 0.001 * len(text)
    return controls <= few and nuls <= max(1, 10 * few) and strange <= 100 * few


def _text_kind(data: bytes, name: str) -> str:
    text = decode(data[:_SAMPLE])[0].lstrip("\ufeff").replace("\0", "")
    hint = _BY_EXTENSION.get(PurePosixPath(name.replace("\\", "/")).suffix.lower())
    if _starts_as_html(text):
        return HTML
    if hint in (HTML, MARKDOWN, CSV):
        return hint
    if hint == JSON or _is_json(text, is_cut=len(data) > _SAMPLE):
        return JSON
    if _is_mail(text):
        return EML
    if text.lower().startswith("sep="):
        return CSV
    return hint if hint in (TEXT,) else _unnamed(text)


def _unnamed(text: str) -> str:
    if len(list(islice(_HTML_TAGS.finditer(text), 3))) == 3:
        return HTML
    return MARKDOWN if sum(bool(sign.search(text)) for sign in _MARKDOWN_SIGNS) >= 2 else TEXT


def _starts_as_html(text: str) -> bool:
    """Whether a page begins here, perhaps after a declaration and comments."""
    text = text.lstrip()
    place = 0
    while before := next((b for b in _HTML_BEFORE if text.startswith(b[0], place)), None):
        end = text.find(before[1], place)
        if end < 0:
            return False
        place = _after_blanks(text, end + len(before[1]))
    return bool(_HTML_START.match(text, place))


def _after_blanks(text: str, place: int) -> int:
    found = _NOT_BLANK.search(text, place)
    return found.start() if found else len(text)


def _is_json(text: str, *, is_cut: bool) -> bool:
    """Whether this is JSON, or begins one that goes on where it was cut."""
    if text.lstrip()[:1] not in ("{", "["):
        return False
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        # What is missing is missing at the end; of a text cut in two its start is named.
        at_end = error.pos >= len(text) - _LONGEST_ESCAPE or error.msg.startswith("Unterminated")
        return is_cut and at_end
    except (ValueError, RecursionError):
        return False
    return True


def _is_mail(text: str) -> bool:
    """At least three e-mail headers before the first empty line."""
    head = re.split(r"\r?\n\r?\n", text, maxsplit=1)[0]
    lines = [line for line in head.splitlines() if line and line[0] not in " \t"]
    if not lines or not all(re.match(r"[!-9;-~]+:", line) for line in lines[1:]):
        return False
    return len({line.split(":")[0].lower() for line in lines if _MAIL_HEADER.match(line)}) >= 3
