"""How operations are described to callers: by what is written for them, never by docstrings.

A view's docstring speaks to whoever reads the code; the framework would publish it as the
description of every operation that has none of its own.
"""

from __future__ import annotations

from drf_spectacular.openapi import AutoSchema


class Described(AutoSchema):
    """The description is the one given to `extend_schema`, or there is none."""

    def get_description(self) -> str:
        return ""
