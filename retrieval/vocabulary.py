"""The agent's vocabulary: which words its documents hold, and how they spell them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from psycopg import sql
from psycopg.types.numeric import Int4

from ingestion.analyse import Root
from ingestion.models import Index
from retrieval.prepared import Prepared
from retrieval.statement import forms_of

MOST_DOCUMENTS = 1_000


def _statement(name: str, most: int = 0) -> Prepared:
    """How many documents to look into stands in the text, for the planner to know."""
    text = (Path(__file__).parent / name).read_text()
    return Prepared.of(sql.SQL(text).format(most=sql.Literal(most)).as_string(None))


_HELD = _statement("vocabulary.sql", MOST_DOCUMENTS)
_KNOWN = _statement("vocabulary.sql", 1)
_FOUND = _statement("found_roots.sql")


@dataclass(frozen=True, slots=True)
class Held:
    """A word that documents hold."""

    folded: str
    surface: str
    documents: int


@dataclass(frozen=True)
class Vocabulary:
    """The words of the enabled documents of the index's agent, by their folded forms.

    What they do not hold is left out of every answer; a form in more than `MOST_DOCUMENTS` is
    judged by that many of them.
    """

    index: Index

    def known(self, folded: Collection[str]) -> Collection[str]:
        """Which of them stand anywhere, at the least cost."""
        return [row.folded for row in self._of(_KNOWN, folded)]

    def held(self, folded: Collection[str]) -> Mapping[str, Held]:
        """Each as it is spelled most, and in how many documents it stands."""
        rows = self._of(_HELD, folded)
        return {row.folded: Held(row.folded, row.surface, row.documents) for row in rows}

    def spellings(self, folded: Collection[str]) -> Mapping[str, str]:
        return {form: one.surface for form, one in self.held(folded).items()}

    def found(self, roots: Sequence[Root]) -> Sequence[bool]:
        """Whether any passage holds each root, as the lexical branch would find it."""
        index = {"index": Int4(self.index.pk), **forms_of(self.index, roots)}
        return [held for (held,) in self._rows(_FOUND, **index)]

    def _of(self, statement: Prepared, folded: Collection[str]) -> list[Any]:
        return self._rows(statement, folded=list(folded)) if folded else []

    def _rows(self, statement: Prepared, **values: Any) -> list[Any]:
        boundary = {"tenant": self.index.tenant_id, "agent": self.index.agent_id}
        return statement.rows({**boundary, **values})
