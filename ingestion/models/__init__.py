"""What ingestion keeps: documents, their passages, and how those are indexed.

    Document ── Passage ── IndexedPassage ── Index ── EmbeddingSpace
        └── IngestionJob      (narrow table)   (one serving per agent)

A passage is text with a place; it belongs to no model. An `Index` is one way to find an agent's
passages: one embedding space, one row of vector and lexemes per passage. Exactly one index of an
agent serves; another may be built beside it and take over in one step, so vectors of two spaces
never meet in one search. `IndexedPassage` is all that retrieval scans: text stays elsewhere.
"""

from ingestion.models.documents import Document, Passage, Word
from ingestion.models.indexes import (
    CommonLexeme,
    EmbeddingSpace,
    EmbeddingUse,
    Index,
    IndexedPassage,
    IndexProbe,
    SpaceProbe,
    serving_index,
)
from ingestion.models.jobs import LEASE, IngestionJob, Turn
from ingestion.models.owned import TenantOwned

__all__ = [
    "LEASE",
    "CommonLexeme",
    "Document",
    "EmbeddingSpace",
    "EmbeddingUse",
    "Index",
    "IndexProbe",
    "IndexedPassage",
    "IngestionJob",
    "Passage",
    "SpaceProbe",
    "TenantOwned",
    "Turn",
    "Word",
    "serving_index",
]

import ingestion.crawl.models  # noqa: F401  (Django finds models here; it needs the above)
