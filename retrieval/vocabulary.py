"""The agent's vocabulary: how its documents spell a word that was typed without diacritics."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from django.db import connection

from tenants.models import Agent

_TEXT = (Path(__file__).parent / "vocabulary.sql").read_text()
MOST_DOCUMENTS = 1_000


def lookup(agent: Agent) -> Callable[[Sequence[str]], Mapping[str, str]]:
    """Folded forms to the spelling that the agent's enabled documents use most; unknown ones are
    left out. A form that is in more than `MOST_DOCUMENTS` is judged by that many of them."""

    def spellings(folded: Sequence[str]) -> Mapping[str, str]:
        if not folded:
            return {}
        values: dict[str, Any] = {
            "tenant": agent.tenant_id,
            "agent": agent.pk,
            "folded": list(folded),
            "most": MOST_DOCUMENTS,
        }
        with connection.cursor() as cursor:
            cursor.execute(_TEXT, values)
            return dict(cursor.fetchall())

    return spellings
