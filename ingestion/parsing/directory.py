"""The directory of a ZIP file, counted before it is read.

`zipfile` makes an object of every entry as soon as a file is opened, a million of them in half a
minute. Each entry begins with a signature, and those are counted at the speed of memory. They lie
at the end, in as many bytes as the end record says; elsewhere a signature may be part of an archive
inside.
"""

from __future__ import annotations

import io
import lzma
import struct
import zipfile
import zlib

from .errors import TooComplex
from .limits import Limits

# What opening a ZIP file and reading its members may raise when it is damaged.
FAILURES = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    NotImplementedError,
    RuntimeError,
    OSError,
    ValueError,
)
_ENTRY = b"PK\x01\x02"
_END, _END_SIZE, _SIZE_AT = b"PK\x05\x06", 22, 12
_LONG_END, _LONG_SIZE_AT = b"PK\x06\x06", 40
_LOCATOR = b"PK\x06\x07"
_LONG_RECORDS = 56 + 20  # end record and locator of a ZIP64, between the directory and the end
_LONGEST_COMMENT = 1 << 16
# An entry of 46 bytes, its name and a few extra fields, which zipfile reads in quadratic time.
_ENTRY_BYTES, _SLACK = 512, 1 << 16


def open_zip(data: bytes, most: int = Limits.max_archive_members) -> zipfile.ZipFile:
    """The ZIP file that `data` is. Raises TooComplex when it has more than `most` entries, folders
    included, and what `zipfile` raises."""
    directory = _directory(data)
    if directory.count(_ENTRY) > most:
        raise TooComplex(f"It holds more than {most:,} files.")
    if len(directory) > most * _ENTRY_BYTES + _SLACK:
        raise TooComplex("The directory of its files is far too long.")
    return zipfile.ZipFile(io.BytesIO(data))


def _directory(data: bytes) -> bytes:
    """The bytes that hold the entries, and a few more; none where `zipfile` finds no end either."""
    end = _end(data)
    if end < 0:
        return b""
    (size,) = struct.unpack_from("<L", data, end + _SIZE_AT)
    start = end - _LONG_RECORDS
    if start >= 0 and data[end - 20 :].startswith(_LOCATOR):
        if not data.startswith(_LONG_END, start):
            return data
        (size,) = struct.unpack_from("<Q", data, start + _LONG_SIZE_AT)
    return data[max(0, start - size) : end]


def _end(data: bytes) -> int:
    """Where the end record starts, looked for as `zipfile` does."""
    last = len(data) - _END_SIZE
    if last >= 0 and data.startswith(_END, last) and data.endswith(b"\0\0"):
        return last
    found = data.rfind(_END, max(0, last - _LONGEST_COMMENT))
    return found if found <= last else -1
