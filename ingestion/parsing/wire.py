"""What passes between the process that wants a file read and the one that reads it.

Frames: eight bytes of length, then so many bytes. A request is two of them, how to read and the
file itself; an answer is as many as there are pages to tell of, and one with the outcome. JSON and
not pickles, for what reads the files of strangers must not be able to have anything run here.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from dolphy.errors import DolphyError

from . import errors
from .blocks import Block, BlockKind, ParsedDocument, QuestionAnswer, Report
from .errors import ParsingError
from .limits import Limits

LENGTH = struct.Struct(">Q")
Message = dict[str, Any]


def frame(body: bytes) -> bytes:
    return LENGTH.pack(len(body)) + body


def framed(message: Message) -> bytes:
    return frame(json.dumps(message, ensure_ascii=False).encode("utf-8", "surrogatepass"))


def request(data: bytes, name: str, media_type: str | None, limits: Limits) -> bytes:
    """The two frames that ask for a file to be read."""
    how = {"name": name, "media_type": media_type, "limits": asdict(limits)}
    return framed(how) + frame(data)


def how(body: bytes) -> tuple[str, str | None, Limits]:
    """Name, media type and limits of a request, from its first frame."""
    values = json.loads(body)
    return values["name"], values["media_type"], Limits(**values["limits"])


def unframed(received: bytearray) -> list[Message]:
    """The messages that have arrived whole; what is left of the next stays in `received`."""
    found: list[Message] = []
    start = 0
    while len(received) - start >= LENGTH.size:
        (length,) = LENGTH.unpack_from(received, start)
        body = start + LENGTH.size
        if len(received) < body + length:
            break
        start = body + length
        found.append(json.loads(received[body:start]))
    del received[:start]
    return found


def pages(done: int, total: int) -> Message:
    return {"pages": [done, total]}


def parsed(document: ParsedDocument) -> Message:
    return {
        "title": document.title,
        "blocks": [_values(block) for block in document.blocks],
        "report": document.report.as_dict(),
        "pairs": [[pair.question, pair.answer] for pair in document.pairs],
    }


def refused(error: ParsingError) -> Message:
    report = error.context.get("report")
    return {"refused": type(error).__name__, "detail": error.detail, "report": report}


def failed(error: BaseException) -> Message:
    return {"failed": type(error).__name__}


def outcome(message: Message) -> ParsedDocument:
    """The document, or what was raised instead, raised here."""
    if "refused" in message:
        raise _error(message)
    if "failed" in message:
        raise DolphyError(message["failed"])
    return ParsedDocument(
        title=message["title"],
        blocks=tuple(_block(*values) for values in message["blocks"]),
        report=_report(message["report"]),
        pairs=tuple(QuestionAnswer(*pair) for pair in message["pairs"]),
    )


def _error(message: Message) -> ParsingError:
    kind = getattr(errors, message["refused"], ParsingError)
    report = message["report"]
    error: ParsingError = kind(message["detail"], **({} if report is None else {"report": report}))
    return error


def _values(block: Block) -> list[object]:
    return [
        block.kind, block.text, block.level, block.page, block.header, block.rows, block.caption
    ]  # fmt: skip


def _block(
    kind: str,
    text: str,
    level: int,
    page: int | None,
    header: list[str],
    rows: list[list[str]],
    caption: str,
) -> Block:
    table = tuple(tuple(row) for row in rows)
    return Block(BlockKind(kind), text, level, page, tuple(header), table, caption)


def _report(values: Mapping[str, Any]) -> Report:
    lists = {name: tuple(values[name]) for name in ("pages_without_text", "warnings")}
    return Report(**{**values, **lists})
