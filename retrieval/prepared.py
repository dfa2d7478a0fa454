"""Statements run prepared: parameters by name, vectors as PostgreSQL reads them."""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import psycopg
from django.db import connection
from psycopg.adapt import Dumper
from psycopg.pq import Format
from psycopg.rows import namedtuple_row

from dolphy.embedding import Vectors

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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A statement with numbered parameters, and their names in that order.

    Numbered once, because a client that looks for names in a long text does so every time; planned
    once a connection.
    """

    text: bytes
    names: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> Prepared:
        """Of a text that holds `%(name)s`."""
        names = tuple(dict.fromkeys(_NAME.findall(text)))
        return cls(_NAME.sub(lambda name: f"${names.index(name[1]) + 1}", text).encode(), names)

    def rows(self, values: Mapping[str, Any]) -> list[Any]:
        """Its rows as named tuples. Raises Django's database errors, as the ORM does."""
        connection.ensure_connection()
        with (
            connection.wrap_database_errors,
            psycopg.RawCursor(connection.connection, row_factory=namedtuple_row) as cursor,
        ):
            cursor.adapters.register_dumper(HalfVector, HalfVectorDumper)
            parameters = [values[name] for name in self.names]
            cursor.execute(self.text, parameters, prepare=True, binary=True)
            return cursor.fetchall()
