"""Settings for one evaluation: the agent with some of them changed, in memory only."""

from __future__ import annotations

from collections.abc import Iterable
from copy import copy
from typing import Any

from django.core.exceptions import ValidationError
from django.db.models import Field

from ingestion.analyse import analyse_question
from retrieval.evaluation.errors import BadSetting
from tenants.models import Agent

WEIGHTS = ("semantic_weight", "lexical_weight")
SETTINGS = (
    *WEIGHTS,
    "semantic_depth",
    "lexical_depth",
    "document_cap",
    "strongest_document_cap",
    "language",
)


def parsed(given: Iterable[str]) -> dict[str, Any]:
    """`name=value` pairs as values of the agent's fields, each checked by itself.

    Raises `BadSetting` for an unknown name, a repeated one, or a value that its field refuses.
    """
    found: dict[str, Any] = {}
    for pair in given:
        name, equals, value = pair.partition("=")
        name = name.strip()
        if not equals:
            raise BadSetting(f"{pair!r}: say name=value.")
        if name not in SETTINGS:
            raise BadSetting(f"There is no setting {name!r}; there are {', '.join(SETTINGS)}.")
        if name in found:
            raise BadSetting(f"{name} is set twice.")
        found[name] = _value(name, value.strip())
    return found | _other_weight(found)


def varied(agent: Agent, values: dict[str, Any]) -> Agent:
    """A copy of the agent with these settings, not saved. Raises `BadSetting` when they do not
    go together."""
    changed = copy(agent)
    for name, value in values.items():
        setattr(changed, name, value)
    try:
        changed.validate_constraints()
    except ValidationError as error:
        raise BadSetting(" ".join(error.messages)) from error
    return changed


def _other_weight(values: dict[str, Any]) -> dict[str, float]:
    """What a weight that is set alone leaves to the other: together they are 1."""
    given = [name for name in WEIGHTS if name in values]
    if len(given) != 1:
        return {}
    (other,) = set(WEIGHTS) - set(given)
    return {other: round(1 - values[given[0]], 6)}


def _field(name: str) -> Field[Any, Any]:
    found = Agent._meta.get_field(name)
    assert isinstance(found, Field)  # noqa: S101 (each of SETTINGS is a column)
    return found


def _value(name: str, text: str) -> Any:
    try:
        value = _field(name).clean(text, None)
    except ValidationError as error:
        raise BadSetting(f"{name}={text}: {' '.join(error.messages)}") from error
    if isinstance(value, float) and value != value:
        raise BadSetting(f"{name}={text}: that is not a number.")
    if name == "language":
        analyse_question("", text)  # raises UnknownLanguage
    return value
