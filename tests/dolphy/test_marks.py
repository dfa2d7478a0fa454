"""Characters that show nothing, and what is no text at all."""

from __future__ import annotations

import json

import pytest

from dolphy.marks import is_text, sayable, without_marks


def test_marks_are_dropped_and_letters_kept() -> None:
    assert without_marks("\u202eİade\u200b\ud800 koşulları\n") == "İade koşulları"


@pytest.mark.parametrize(
    "text, sound", [("iade 😀", True), ("", True), ("\0", False), ("a\udcfe", False)]
)
def test_text_is_what_a_database_can_hold(text: str, sound: bool) -> None:
    assert is_text(text) is sound


def test_everything_that_is_said_can_be_sent() -> None:
    said = sayable({"\ud800": ["\udfff", {"a": "ş"}], "n": 1, "pair": ("\udcfe", None)})
    assert said == {"\\ud800": ["\\udfff", {"a": "ş"}], "n": 1, "pair": ["\\udcfe", None]}
    json.dumps(said, ensure_ascii=False).encode()
