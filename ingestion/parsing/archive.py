"""ZIP files, opened with care: archives of documents, and the packages that office files are.

Sizes are checked as declared before anything is unpacked; zipfile never yields more than a member
declares, so the declared sizes bound the real ones. Refused: too many members, too large or too
well packed, encrypted. In an archive of documents, links, folders, hidden and system entries are
skipped and archives inside archives are refused; member names are reduced to safe ones.
"""

from __future__ import annotations

import re
import stat
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath
from xml.etree.ElementTree import ParseError

from lxml import etree

from .clean import fold
from .directory import FAILURES, open_zip
from .errors import BrokenFile, ParsingError, PasswordProtected, TooComplex, TooManyFiles
from .limits import MEGABYTE, Limits
from .xml_tree import declares_entities

_ENCRYPTED = 0x1
_UNSAFE = re.compile(r'[<>:"|?*\\]')
_SYSTEM = ("__MACOSX", "Thumbs.db", "desktop.ini")
_ARCHIVE_STARTS = (b"\x1f\x8b", b"7z\xbc\xaf", b"Rar!")
# Small members may pack very well by nature; only large ones are suspect.
_SUSPECT_SIZE = 10 * MEGABYTE
_LONGEST_NAME = 200

# What libraries that read packages raise when a part is missing or says what it cannot say.
PACKAGE_FAILURES = (
    *FAILURES,
    etree.XMLSyntaxError,
    ParseError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
)


class Package:
    """A checked ZIP whose members can be read. Names are as stored, with no leading slash."""

    def __init__(self, data: bytes, limits: Limits) -> None:
        try:
            self._zip = open_zip(data, limits.max_archive_members)
        except FAILURES as error:
            raise BrokenFile() from error
        self._limits = limits
        self.entries = self._zip.infolist()
        self._check()

    @property
    def names(self) -> list[str]:
        return [entry.filename for entry in self.entries]

    def read(self, name: str | zipfile.ZipInfo) -> bytes:
        """The bytes of a member. Raises BrokenFile when it is missing or damaged."""
        try:
            return self._zip.read(name)
        except KeyError as error:
            raise BrokenFile("A part of it is missing.") from error
        except FAILURES as error:
            raise BrokenFile() from error

    def read_xml(self, name: str) -> bytes:
        """The bytes of an XML member; TooComplex when it declares entities."""
        data = self.read(name)
        if declares_entities(data):
            raise TooComplex("It declares XML entities, which documents have no use for.")
        return data

    def check_xml(self) -> None:
        """Refuse a package with entity declarations anywhere, before a library reads it."""
        for entry in self.entries:
            if entry.filename.endswith((".xml", ".rels")):
                self.read_xml(entry.filename)

    def _check(self) -> None:
        limits = self._limits
        if any(entry.flag_bits & _ENCRYPTED for entry in self.entries):
            raise PasswordProtected()
        sizes = [entry.file_size for entry in self.entries]
        if sum(sizes) > limits.max_archive_bytes or max(sizes, default=0) > limits.max_member_bytes:
            megabytes = limits.max_archive_bytes // MEGABYTE
            raise TooComplex(f"It unpacks to more than {megabytes} MB, or one file in it is huge.")
        if any(self._is_bomb(entry) for entry in self.entries):
            raise TooComplex("It is packed far more tightly than documents are.")

    def _is_bomb(self, entry: zipfile.ZipInfo) -> bool:
        if entry.file_size <= _SUSPECT_SIZE:
            return False
        return entry.file_size > self._limits.max_ratio * max(entry.compress_size, 1)


def members(data: bytes, *, limits: Limits = Limits()) -> Iterator[tuple[str, bytes]]:  # noqa: B008
    """`(name, bytes)` of each document in a ZIP, in stored order.

    Names are relative, without `..`, drive letters, control characters or bidi marks, and unique.
    Raises BrokenFile, PasswordProtected, or TooComplex for bombs and for archives inside.
    """
    for name, content in members_or_reasons(data, limits=limits):
        if isinstance(content, ParsingError):
            raise content
        yield name, content


def members_or_reasons(
    data: bytes,
    *,
    limits: Limits = Limits(),  # noqa: B008
    most: int | None = None,
) -> Iterator[tuple[str, bytes | ParsingError]]:
    """The same, with the reason in place of the bytes for a member that is damaged or an archive.

    Raises what is wrong with the archive as a whole, and TooManyFiles for more than `most`
    documents, before any is unpacked.
    """
    package = Package(data, limits)
    named = [(entry, safe_name(_stored_name(entry))) for entry in package.entries]
    documents = [(entry, name) for entry, name in named if name and _is_document(entry)]
    if most is not None and len(documents) > most:
        raise TooManyFiles(f"It holds {len(documents):,}; the limit is {most:,}.", limit=most)
    seen: dict[str, int] = {}
    for entry, name in documents:
        yield _unique(name, seen), _content(package, entry, name)


def _content(package: Package, entry: zipfile.ZipInfo, name: str) -> bytes | ParsingError:
    try:
        content = package.read(entry)
    except ParsingError as error:
        return error
    if _is_archive(content):
        return TooComplex(f"It holds another archive ({name}); unpack that first.")
    return content


def safe_name(name: str) -> str:
    """A relative path that names a file and nothing else, at most 200 characters."""
    parts = (_UNSAFE.sub("_", fold(part)) for part in name.replace("\\", "/").split("/"))
    kept = [part for part in parts if part.strip(". ")]
    return "/".join(kept)[-_LONGEST_NAME:].lstrip("/")


def _stored_name(entry: zipfile.ZipInfo) -> str:
    """Turkish Windows stores names in cp857; zipfile reads those as cp437."""
    if entry.flag_bits & 0x800:
        return entry.filename
    try:
        return entry.filename.encode("cp437").decode("cp857")
    except UnicodeError:
        return entry.filename


def _is_document(entry: zipfile.ZipInfo) -> bool:
    mode = entry.external_attr >> 16
    path = PurePosixPath(entry.filename.replace("\\", "/"))
    if entry.is_dir() or (mode and stat.S_IFMT(mode) not in (0, stat.S_IFREG)):
        return False
    return not path.name.startswith(".") and not any(part in _SYSTEM for part in path.parts)


def _is_archive(content: bytes) -> bool:
    """A ZIP that is no office file, or another kind of archive."""
    if content.startswith(_ARCHIVE_STARTS):
        return True
    if not content.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return False
    try:
        with open_zip(content) as inner:
            names = set(inner.namelist())
    except TooComplex:
        return True
    except FAILURES:
        return False
    return not names & {"mimetype", "[Content_Types].xml"}


def _unique(name: str, seen: dict[str, int]) -> str:
    """The name, or `a (2).txt` for one that came before; `seen` counts them."""
    path, candidate = PurePosixPath(name), name
    while candidate in seen:
        seen[name] += 1
        candidate = str(path.with_name(f"{path.stem} ({seen[name]}){path.suffix}"))
    seen[candidate] = 1
    return candidate
