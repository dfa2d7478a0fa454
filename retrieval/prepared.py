"""Statements run prepared: parameters by name, numbered once, planned once a connection."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from typing import Any

import psycopg
from django.db import connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import namedtuple_row

from dolphy.embedding import Vectors

Names = tuple[str, ...]
_NAME = re.compile(r"%\((\w+)\)s")


class HalfVector(bytes):
    """A vector as PostgreSQL reads a binary halfvec: its width, a spare field, then half floats."""

    @classmethod
    def of(cls, vector: Vectors) -> HalfVector:
        return cls(struct.pack(">HH", len(vector), 0) + vector.astype(">f2").tobytes())


class HalfVectorDumper(Dumper):
    """Sends it as it is; the type is told by the cast in the statement."""

    format = Format.BINARY

    def dump(self, obj: HalfVector) -> bytes:
        return obj


def numbered(text: str) -> tuple[bytes, Names]:
    """The text with `$1, $2, …` for `%(name)s`, and the names in that order.

    Done once a text, because a client that looks for names does so every time it runs it.
    """
    names = tuple(dict.fromkeys(_NAME.findall(text)))
    return _NAME.sub(lambda name: f"${names.index(name[1]) + 1}", text).encode(), names


def rows_of(text: bytes, names: Names, values: Mapping[str, Any]) -> list[Any]:
    """The rows of a numbered text, as named tuples."""
    connection.ensure_connection()
    with psycopg.RawCursor(connection.connection, row_factory=namedtuple_row) as cursor:
        cursor.adapters.register_dumper(HalfVector, HalfVectorDumper)
        cursor.execute(text, [values[name] for name in names], prepare=True, binary=True)
        return cursor.fetchall()
