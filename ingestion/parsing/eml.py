"""E-mail: its subject as the title, then all of its text in the order of its parts.

Of alternatives one is read, HTML preferred for its tables and lists. A forwarded message follows
under a heading of its own. Quoted replies and signatures are left out and counted; attachments are
named in the warnings and not read, because each is a document of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from email import message_from_bytes, policy
from email.message import EmailMessage, Message

from .blocks import Block, BlockKind, Reading
from .charset import decode
from .clean import fold
from .errors import BrokenFile, TooComplex
from .html import fragment_blocks
from .limits import Limits
from .text import text_blocks

_MAX_PARTS = 500
_MAX_DEPTH = 50
_LONGEST_NAME = 200
# The standard parser trips over some malformed headers; none is worth the letter.
_HEADER_FAULTS = (ValueError, IndexError, AttributeError, LookupError, TypeError)
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
    try:
        message = message_from_bytes(data, policy=policy.default)
    except RecursionError as error:
        raise TooComplex("Its parts are nested too deeply.") from error
    if not isinstance(message, EmailMessage):
        raise BrokenFile()
    names = [name for part in _leaves(message) if (name := _attachment_name(part))]
    walk = _Walk(limits)
    blocks = walk.blocks(message)
    subject = _header(message, "subject")
    heading = [Block(BlockKind.HEADING, subject, 1)] if subject and blocks else []
    return Reading(
        (*heading, *blocks),
        subject,
        walk.charset,
        boilerplate_removed=walk.removed,
        warnings=(*(f'The attachment "{name}" was not read.' for name in names), *walk.warnings),
    )


def _header(message: Message, name: str) -> str:
    try:
        return fold(str(message.get(name, "")))
    except _HEADER_FAULTS:
        return ""


def _leaves(message: EmailMessage) -> Iterator[Message]:
    """Parts that hold no others, in order, those of forwarded messages too."""
    left: list[tuple[Message, int]] = [(message, 0)]
    seen = 0
    while left:
        part, depth = left.pop()
        seen += 1
        if seen > _MAX_PARTS:
            raise TooComplex(f"It has more than {_MAX_PARTS} parts.")
        if depth > _MAX_DEPTH:
            raise TooComplex("Its parts are nested too deeply.")
        if part.is_multipart():
            left.extend((inner, depth + 1) for inner in reversed(_inside(part)))
        else:
            yield part


def _inside(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [p for p in payload if isinstance(p, Message)] if isinstance(payload, list) else []


def _kind(part: Message) -> str:
    try:
        kind = part.get_content_type()
    except _HEADER_FAULTS:
        return "text/plain"
    # Parts that nobody can tell apart are one text.
    lost = kind.startswith("multipart/") and not part.is_multipart()
    return "text/plain" if lost else kind


def _attachment_name(part: Message) -> str:
    try:
        name = part.get_filename()
    except _HEADER_FAULTS:
        name = None
    try:
        disposition = part.get_content_disposition()
    except _HEADER_FAULTS:
        disposition = None
    if disposition == "attachment" or (name and not _kind(part).startswith("text/")):
        return fold(name or _kind(part))
    return ""


class _Walk:
    """One pass over the parts; knows what it met beside their blocks. `_leaves` bounds its depth"""

    def __init__(self, limits: Limits) -> None:
        self.charset: str | None = None
        self.removed = 0
        self.warnings: list[str] = []
        self._limits = limits
        self._characters = 0
        self._forwarded = 0

    def blocks(self, part: Message) -> list[Block]:
        match kind := _kind(part):
            case "multipart/alternative":
                return self._first(sorted(_inside(part), key=_holds_html)[::-1])
            case "multipart/related":
                return self._first(_inside(part))
            case "message/rfc822":
                return [block for inner in _inside(part)[:1] for block in self._forward(inner)]
        if kind.startswith("multipart/"):
            return [block for inner in _inside(part) for block in self.blocks(inner)]
        return [] if _attachment_name(part) else self._text(part, kind)

    def _first(self, parts: list[Message]) -> list[Block]:
        """Of parts that say the same, or of one with what it needs, the first that has text."""
        for part in parts:
            warnings, removed = list(self.warnings), self.removed
            if blocks := self.blocks(part):
                return blocks
            self.warnings, self.removed = warnings, removed
        return []

    def _forward(self, message: Message) -> list[Block]:
        self._forwarded += 1
        blocks = self.blocks(message)
        named = (_header(message, name)[:_LONGEST_NAME] for name in ("subject", "from", "date"))
        title = " — ".join(filter(None, named))
        heading = [Block(BlockKind.HEADING, title, min(6, 1 + self._forwarded))]
        self._forwarded -= 1
        return [*heading, *blocks] if title and blocks else blocks

    def _text(self, part: Message, kind: str) -> list[Block]:
        if kind not in ("text/html", "text/plain"):
            if kind.startswith(("text/", "message/")):
                self.warnings.append(f'A part of the kind "{fold(kind)}" was not read.')
            return []
        text, charset = _decoded(part)
        self._characters += len(text)
        if self._characters > self._limits.max_characters:
            raise TooComplex(f"It holds more than {self._limits.max_characters:,} characters.")
        if kind == "text/html":
            blocks = _html_blocks(text)
        else:
            own, removed = _own_lines(text)
            self.removed += removed
            blocks = list(text_blocks(own, self._limits))
        if blocks:
            self.charset = self.charset or charset
        return blocks


def _holds_html(part: Message) -> bool:
    return any(_kind(inner) == "text/html" for inner in part.walk())


def _html_blocks(text: str) -> list[Block]:
    return fragment_blocks(text) if text.strip() else []


def _decoded(part: Message) -> tuple[str, str]:
    payload = part.get_payload(decode=True)
    try:
        charset = part.get_content_charset()
    except _HEADER_FAULTS:
        charset = None
    return decode(payload if isinstance(payload, bytes) else b"", charset)


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
