"""The bytes of one file become blocks and a report. Pure: no settings, no database, no network."""

from .archive import members, members_or_reasons
from .blocks import Block, BlockKind, ParsedDocument, QuestionAnswer, Report
from .errors import (
    BrokenFile,
    EmptyFile,
    GarbledText,
    NeedsJavaScript,
    NoContent,
    ParsingError,
    PasswordProtected,
    TooComplex,
    TooManyFiles,
    UnsupportedMediaType,
)
from .limits import Limits
from .media_type import detect_media_type
from .parse import parse

__all__ = [
    "Block",
    "BlockKind",
    "BrokenFile",
    "EmptyFile",
    "GarbledText",
    "Limits",
    "NeedsJavaScript",
    "NoContent",
    "ParsedDocument",
    "ParsingError",
    "PasswordProtected",
    "QuestionAnswer",
    "Report",
    "TooComplex",
    "TooManyFiles",
    "UnsupportedMediaType",
    "detect_media_type",
    "members",
    "members_or_reasons",
    "parse",
]
