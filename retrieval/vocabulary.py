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


_SPELLINGS = _statement("vocabulary.sql", MOST_DOCUMENTS)
_DOCUMENTS = _statement("word_documents.sql", MOST_DOCUMENTS)
_KNOWN = _statement("word_documents.sql", 1)
_FOUND = _statement("found_roots.sql")


@dataclass(frozen=True)
class Vocabulary:
    """The words of the enabled documents of the index's agent, by their folded forms.

    What they do not hold is left out of every answer; a form in more than `MOST_DOCUMENTS` is
    judged by that many of them.
    """

    index: Index

    def known(self, folded: Collection[str]) -> Collection[str]:
        return dict(self._rows(_KNOWN, folded=list(folded))) if folded else ()

    def documents(self, folded: Collection[str]) -> Mapping[str, int]:
        """In how many documents each stands."""
        return dict(self._rows(_DOCUMENTS, folded=list(folded))) if folded else {}

    def spellings(self, folded: Collection[str]) -> Mapping[str, str]:
        """Each form as it is spelled most."""
        return dict(self._rows(_SPELLINGS, folded=list(folded))) if folded else {}

    def found(self, roots: Sequence[Root]) -> Sequence[bool]:
        """Whether any passage holds each root, as the lexical branch would find it."""
        index = {"index": Int4(self.index.pk), **forms_of(self.index, roots)}
        return [held for (held,) in self._rows(_FOUND, **index)]

    def _rows(self, statement: Prepared, **values: Any) -> list[Any]:
        boundary = {"tenant": self.index.tenant_id, "agent": self.index.agent_id}
        return statement.rows({**boundary, **values})
