"""What a caller may say, and how all that is wrong with it is named at once."""

from __future__ import annotations

from typing import Any

import pytest

from dolphy.errors import InvalidInput
from dolphy.inputs import Input, Text, Whole, read


class Asked(Input):
    question = Text()
    limit = Whole(required=False, min_value=1)


@pytest.mark.parametrize(
    ("body", "wrong"),
    [
        ({"question": "iade", "limit": 0, "foo": 1}, {"limit", "foo"}),
        ({"foo": 1, "bar": 2}, {"question", "foo", "bar"}),
        ({"question": "iade", "foo": 1}, {"foo"}),
        ({"question": 5}, {"question"}),
        ([], {"non_field_errors"}),
        ("iade", {"non_field_errors"}),
        (None, {"non_field_errors"}),
    ],
)
def test_every_wrong_field_is_named_unknown_ones_too(body: Any, wrong: set[str]) -> None:
    with pytest.raises(InvalidInput) as refused:
        read(Asked, body)
    fields: Any = refused.value.context["fields"]
    assert set(fields) == wrong


def test_a_right_body_is_read() -> None:
    assert read(Asked, {"question": "iade", "limit": 3}) == {"question": "iade", "limit": 3}
