"""The agent's vocabulary: which words its documents hold, and how they spell them."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg.types.numeric import Int4

from retrieval.prepared import Names, numbered, rows_of
from tenants.models import Agent

MOST_DOCUMENTS = 1_000
_SPELLINGS = numbered((Path(__file__).parent / "vocabulary.sql").read_text())
_COUNTS = numbered((Path(__file__).parent / "word_counts.sql").read_text())


@dataclass(frozen=True)
class Vocabulary:
    """The words of the agent's enabled documents, by their folded forms. What they do not hold is
    left out of every answer; a form in more than `MOST_DOCUMENTS` is judged by that many of them.
    """

    agent: Agent

    def known(self, folded: Collection[str]) -> Collection[str]:
        return self._of(_COUNTS, folded, most=1).keys()

    def counts(self, folded: Collection[str]) -> Mapping[str, int]:
        return self._of(_COUNTS, folded, most=MOST_DOCUMENTS)

    def spellings(self, folded: Collection[str]) -> Mapping[str, str]:
        """Each form as it is spelled most."""
        return self._of(_SPELLINGS, folded, most=MOST_DOCUMENTS)

    def _of(
        self, statement: tuple[bytes, Names], folded: Collection[str], most: int
    ) -> dict[str, Any]:
        if not folded:
            return {}
        boundary = {"tenant": self.agent.tenant_id, "agent": self.agent.pk}
        return dict(rows_of(*statement, {**boundary, "folded": list(folded), "most": Int4(most)}))
