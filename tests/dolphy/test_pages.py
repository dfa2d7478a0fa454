"""Pages and their cursors, whatever a caller sends for one."""

from __future__ import annotations

import base64
import json
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from dolphy.errors import InvalidInput
from dolphy.pages import BY_POSITION, BY_URL, LONGEST_CURSOR, NEWEST_FIRST, _decode, _encode
from ingestion.crawl.models import LONGEST_URL, Page


def cursor(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


NOW = "2026-01-01T00:00:00+00:00"


def test_a_cursor_is_read_back() -> None:
    key = uuid4()
    assert _decode(cursor([NOW, str(key)]), NEWEST_FIRST) == [datetime.fromisoformat(NOW), key]
    assert _decode(cursor([7]), BY_POSITION) == [7]


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "text",
        {},
        [],
        [NOW],
        [NOW, "x"],
        [NOW, None],
        [NOW, ["x"]],
        ["2026-01-01T00:00:00", str(uuid4())],
        ["0001-01-01T00:00:00+14:00", str(uuid4())],
        ["9999-12-31T23:59:59-14:00", str(uuid4())],
        ["8999-12-31T23:59:59-23:59", str(uuid4())],
        ["not a moment", str(uuid4())],
        [5, str(uuid4())],
        [NOW, str(uuid4()), 1],
    ],
)
def test_a_cursor_of_somebody_else_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        _decode(cursor(value), NEWEST_FIRST)


@pytest.mark.parametrize("value", [["x"], [-1], [2**40], [None], [[1]], [float("inf")]])
def test_a_position_that_no_passage_has_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        _decode(cursor(value), BY_POSITION)


@pytest.mark.parametrize("text", ["", "=", "a", "é", "\0", "[" * 300, cursor("x")[:-1]])
def test_text_that_is_no_cursor_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        _decode(text, NEWEST_FIRST)


@pytest.mark.parametrize("value", ["\0", "\ud800", 5, None, ["x"]])
def test_an_address_that_no_row_can_have_is_refused(value: Any) -> None:
    with pytest.raises(InvalidInput):
        _decode(cursor([value]), BY_URL)


def test_a_moment_is_compared_in_utc_whatever_its_offset() -> None:
    odd = _decode(cursor(["2026-01-01T00:00:00+23:59:59.999999", str(uuid4())]), NEWEST_FIRST)[0]
    assert odd.utcoffset() == timedelta(0)


@pytest.mark.parametrize("character", ["a", "ş", '"', "\U0001f600"])
def test_the_cursor_of_the_longest_address_may_be_sent_back(character: str) -> None:
    issued = _encode(Page(url=character * LONGEST_URL), BY_URL)
    assert len(issued) <= LONGEST_CURSOR
    assert _decode(issued, BY_URL) == [character * LONGEST_URL]
