"""E-mail: its subject as the title, its text, with HTML preferred for its tables and lists.

Quoted replies and signatures are left out and counted; attachments are named in the warnings and
not read, because each is a document of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage

from .blocks import Block, BlockKind, Reading
from .charset import decode
from .clean import fold
from .errors import BrokenFile, TooComplex
from .html import fragment_blocks
from .limits import Limits
from .text import text_blocks

_MAX_PARTS = 500
_QUOTED = re.compile(r"^\s*>")
_QUOTE_INTRODUCTION = re.compile(
    r"^(?:on .{5,200} wrote:|.{5,200} tarihinde .{0,200}yazdı:|.{3,200} şunu yazdı:|"
    r"-{2,}\s*(?:original message|özgün ileti|orijinal mesaj)\s*-{2,})\s*$",
    re.I,
)


def read_eml(data: bytes, limits: Limits) -> Reading:
    """The blocks of a message."""
    if data.count(b"\n--") > 20 * _MAX_PARTS:
        raise TooComplex(f"It has more than {_MAX_PARTS} parts.")
    message = message_from_bytes(data, policy=policy.default)
    if not isinstance(message, EmailMessage):
        raise BrokenFile()
    parts = list(_parts(message))
    if len(parts) > _MAX_PARTS:
        raise TooComplex(f"It has more than {_MAX_PARTS} parts.")
    subject = fold(_header(message, "subject"))
    blocks, charset, removed = _body(parts, limits)
    names = [name for part in parts if (name := _attachment_name(part))]
    heading = [Block(BlockKind.HEADING, subject, 1)] if subject and blocks else []
    return Reading(
        (*heading, *blocks),
        subject,
        charset,
        boilerplate_removed=removed,
        warnings=tuple(f'The attachment "{name}" was not read.' for name in names),
    )


def _header(message: EmailMessage, name: str) -> str:
    try:
        return str(message.get(name, ""))
    except (ValueError, IndexError, AttributeError, LookupError):
        # The standard parser trips over some malformed headers; a title is not worth the letter.
        return ""


def _parts(message: EmailMessage) -> Iterator[EmailMessage]:
    """Leaves in order; a forwarded message is walked too."""
    for part in message.walk():
        if isinstance(part, EmailMessage) and not part.is_multipart():
            yield part


def _attachment_name(part: EmailMessage) -> str:
    try:
        name = part.get_filename()
    except (ValueError, LookupError, AttributeError):
        name = None
    if part.get_content_disposition() == "attachment" or (
        name and part.get_content_maintype() != "text"
    ):
        return fold(name or part.get_content_type())
    return ""


def _body(parts: list[EmailMessage], limits: Limits) -> tuple[list[Block], str | None, int]:
    """`(blocks, charset, lines removed)` of the HTML part, else of the plain one."""
    texts = [part for part in parts if not _attachment_name(part)]
    for kind in ("text/html", "text/plain"):
        for part in texts:
            if part.get_content_type() != kind:
                continue
            text, charset = _decoded(part)
            if len(text) > limits.max_characters:
                raise TooComplex(f"It holds more than {limits.max_characters:,} characters.")
            if kind == "text/html":
                blocks, removed = fragment_blocks(text), 0
            else:
                own, removed = _own_lines(text)
                blocks = list(text_blocks(own, limits))
            if blocks:
                return blocks, charset, removed
    return [], None, 0


def _decoded(part: EmailMessage) -> tuple[str, str]:
    payload = part.get_payload(decode=True)
    return decode(payload if isinstance(payload, bytes) else b"", part.get_content_charset())


def _own_lines(text: str) -> tuple[str, int]:
    """The writer's own lines: without quotes, and without what follows a signature's mark."""
    kept: list[str] = []
    lines = text.splitlines()
    for line in lines:
        if line.rstrip("\r") == "-- ":
            return "\n".join(kept), len(lines) - len(kept)
        if not _QUOTED.match(line) and not _QUOTE_INTRODUCTION.match(line.strip()):
            kept.append(line)
    return "\n".join(kept), len(lines) - len(kept)
