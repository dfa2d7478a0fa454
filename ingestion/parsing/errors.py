"""Why a file cannot become a document. Each docstring is read by a business admin, who can act.

An error raised after reading carries `report`, what was found, in its context.
"""

from __future__ import annotations

from dolphy.errors import DolphyError


class ParsingError(DolphyError):
    """The file could not be read."""

    code = "unreadable"
    status = 422


class EmptyFile(ParsingError):
    """The file is empty. Upload it again from the original."""

    code = "empty_file"


class UnsupportedMediaType(ParsingError):
    """Files of this kind cannot be read. Save it as PDF, DOCX, XLSX, HTML or text and try again."""

    code = "unsupported_media_type"
    status = 415


class PasswordProtected(ParsingError):
    """The file is protected by a password. Remove the password and upload it again."""

    code = "password_protected"


class BrokenFile(ParsingError):
    """The file is damaged or incomplete. Open it in its program, save it anew and upload that."""

    code = "broken_file"


class NoContent(ParsingError):
    """Nothing readable was found in the file."""

    code = "no_content"


class NeedsJavaScript(NoContent):
    """The page shows its text only to browsers that run JavaScript. Upload its text as a file."""

    code = "needs_javascript"


class GarbledText(ParsingError):
    """The text came out garbled. Save the file as UTF-8, or the PDF with its fonts embedded."""

    code = "garbled_text"


class TooComplex(ParsingError):
    """The file is larger or more deeply packed than can be read safely. Split it into parts."""

    code = "too_complex"


class TooManyFiles(TooComplex):
    """The archive holds more files than are received at once. Split it into several archives."""

    code = "too_many_files"


class ParseTimeout(ParsingError):
    """Reading the file took so long that it was stopped. Split it, or save it anew and retry."""

    code = "parse_timeout"


class ParserDied(ParsingError):
    """The file ended the program that reads it, each time. Save it anew and upload that."""

    code = "parser_died"
