"""The agent's vocabulary: which words its documents hold, and how they spell them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from retrieval.prepared import Names, numbered, rows_of
from tenants.models import Agent

MOST_DOCUMENTS = 1_000


def _statement(name: str, most: int) -> tuple[bytes, Names]:
    """How many documents to look into stands in the text, for the planner to know."""
    return numbered((Path(__file__).parent / name).read_text().format(most=most))


_SPELLINGS = _statement("vocabulary.sql", MOST_DOCUMENTS)
_COUNTS = _statement("word_counts.sql", MOST_DOCUMENTS)
_KNOWN = _statement("word_counts.sql", 1)


@dataclass(frozen=True)
class Vocabulary:
    """The words of the agent's enabled documents, by their folded forms. What they do not hold is
    left out of every answer; a form in more than `MOST_DOCUMENTS` is judged by that many of them.
    """

    agent: Agent

    def known(self, folded: Collection[str]) -> Collection[str]:
        return self._of(_KNOWN, folded).keys()

    def counts(self, folded: Collection[str]) -> Mapping[str, int]:
        return self._of(_COUNTS, folded)

    def spellings(self, folded: Collection[str]) -> Mapping[str, str]:
        """Each form as it is spelled most."""
        return self._of(_SPELLINGS, folded)

    def _of(self, statement: tuple[bytes, Names], folded: Collection[str]) -> dict[str, Any]:
        if not folded:
            return {}
        boundary = {"tenant": self.agent.tenant_id, "agent": self.agent.pk}
        return dict(rows_of(*statement, {**boundary, "folded": list(folded)}))
