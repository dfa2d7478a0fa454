"""What a caller may say: fields that take their own type only, and bodies without unknown names.

The framework's fields are lenient (`5` is text, `"yes"` is true) and drop what they do not know, so
that a misspelt option would be ignored in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from dolphy.errors import InvalidInput


class Input(serializers.Serializer):
    """Unknown fields are refused."""

    def to_internal_value(self, data: Any) -> Any:
        """The fields as their types; what is wrong is named all at once, unknown ones with it."""
        names = set(data) if isinstance(data, Mapping) else set()
        wrong: dict[Any, Any] = {
            name: ["Unknown field."] for name in sorted(names - set(self.fields))
        }
        try:
            known = super().to_internal_value(data)
        except serializers.ValidationError as error:
            raise serializers.ValidationError({**wrong, **error.detail}) from None
        if wrong:
            raise serializers.ValidationError(wrong)
        return known


class Text(serializers.CharField):
    """A JSON string, kept as it was typed."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**({"trim_whitespace": False} | options))

    def to_internal_value(self, data: Any) -> str:
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class TypedText(Text):
    """Text whose characters, NUL among them, are the reader's to judge."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.validators: list[Any] = []


class Flag(serializers.BooleanField):
    """A JSON true or false."""

    def to_internal_value(self, data: Any) -> bool:
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data


class Whole(serializers.IntegerField):
    """A JSON whole number."""

    def to_internal_value(self, data: Any) -> int:
        if not isinstance(data, int) or isinstance(data, bool):
            self.fail("invalid")
        return data


def read(kind: type[Input], data: Any) -> Mapping[str, Any]:
    """The validated fields of a body or a query; `InvalidInput` names each field that is wrong."""
    form = kind(data=data)
    if not form.is_valid():
        raise InvalidInput(fields=form.errors)
    return dict(form.validated_data)
