"""Lists, a page at a time: a cursor says where the last page ended, in the order's own values.

A page costs the same wherever it is, and rows that arrive meanwhile neither repeat nor skip one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django.db.models import Model, Q, QuerySet
from rest_framework import serializers

from dolphy.errors import InvalidInput
from dolphy.inputs import Input, Text
from dolphy.marks import is_text

LONGEST = 200
LONGEST_CURSOR = 8000  # an address of 1,000 characters, four bytes each, in base64


class PageQuery(Input):
    """Which page: `next` of the page before as `cursor`, and how many rows it may hold."""

    cursor = Text(required=False, max_length=LONGEST_CURSOR)
    limit = serializers.IntegerField(required=False, default=50, min_value=1, max_value=LONGEST)


@dataclass(frozen=True, slots=True)
class Order:
    """Columns, all falling or all rising, the last one unique; and how each is read back."""

    columns: Mapping[str, Callable[[Any], Any]]
    falling: bool

    def names(self) -> list[str]:
        return [f"-{name}" if self.falling else name for name in self.columns]

    def beyond(self, values: list[Any]) -> Q:
        """Rows after the row that holds these values; a first, plain bound lets an index serve."""
        step = "lt" if self.falling else "gt"
        names = list(self.columns)
        beyond = Q()
        for depth, name in enumerate(names):
            equal = dict(zip(names[:depth], values, strict=False))
            beyond |= Q(**equal, **{f"{name}__{step}": values[depth]})
        return Q(**{f"{names[0]}__{step}e": values[0]}) & beyond


def _moment(text: str) -> datetime:
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("A moment needs its offset.")
    moment = moment.astimezone(UTC)
    if not 2000 <= moment.year < 9000:
        raise ValueError("No row was made then.")
    return moment


def _position(number: int) -> int:
    if not 0 <= int(number) < 2**31:
        raise ValueError("No row lies there.")
    return int(number)


def _address(text: str) -> str:
    if not isinstance(text, str) or not is_text(text):
        raise ValueError("No row has this address.")
    return text


NEWEST_FIRST = Order({"created_at": _moment, "id": UUID}, falling=True)
BY_POSITION = Order({"position": _position}, falling=False)
BY_URL = Order({"url": _address}, falling=False)


def page(
    rows: QuerySet[Any], order: Order, *, cursor: str | None = None, limit: int = 50
) -> tuple[list[Any], str | None]:
    """At most `limit` rows and the cursor of the page after them, None on the last page."""
    if cursor:
        rows = rows.filter(order.beyond(_decode(cursor, order)))
    found = list(rows.order_by(*order.names())[: limit + 1])
    following = _encode(found[limit - 1], order) if len(found) > limit else None
    return found[:limit], following


def _encode(row: Model, order: Order) -> str:
    values = [getattr(row, name) for name in order.columns]
    plain = [value if isinstance(value, int) else _text(value) for value in values]
    said = json.dumps(plain, ensure_ascii=False).encode()
    return base64.urlsafe_b64encode(said).decode().rstrip("=")


def _text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _decode(cursor: str, order: Order) -> list[Any]:
    try:
        plain = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        values = [read(value) for read, value in zip(order.columns.values(), plain, strict=True)]
    except (ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        raise InvalidInput(fields={"cursor": ["This is not a cursor of ours."]}) from None
    return values
