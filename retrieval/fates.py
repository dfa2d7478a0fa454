"""Where a document ended in a retrieval, and why: read from its trace alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

NOT_IN_POOL = "not_in_pool"
_COPIED = (
    "uri",
    "position",
    "verdict",
    "place",
    "rank",
    "similarity",
    "semantic_rank",
    "lexical_rank",
)
Record = Mapping[str, Any]

# In the order in which selection decides.
VERDICTS = {
    "kept": "is evidence",
    "duplicate": "says word for word what a better candidate says, which stays",
    "over_cap": "its document had given all the passages that its cap allows",
    "filled": "over its document's cap, but is evidence because there was room",
    "beyond_limit": "the evidence was full before its turn",
}


@dataclass(frozen=True)
class Fate:
    """What became of one candidate. `rank` is its place in the evidence, None when dropped."""

    uri: str
    position: int
    verdict: str
    place: int
    rank: int | None
    similarity: float
    semantic_rank: int | None
    lexical_rank: int | None
    reason: str

    @property
    def reached_by(self) -> str:
        """`3rd by meaning, not by words`: how each branch brought it into the pool."""
        meaning, words = _by(self.semantic_rank, "meaning"), _by(self.lexical_rank, "words")
        return f"{meaning}, {words}"


def fates(record: Record, uri: str) -> tuple[Fate, ...]:
    """Every candidate of the document `uri` in the trace, best first; none when none was in the
    pool."""
    settings = record["settings"]
    strongest = record["candidates"][0]["document"] if record["candidates"] else ""
    return tuple(
        _fate(row, settings, of_strongest=row["document"] == strongest)
        for row in record["candidates"]
        if row["uri"] == uri
    )


def ordinal(number: int) -> str:
    """1 → `1st`."""
    tens = number % 100 // 10 == 1
    return f"{number}{'th' if tens else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _by(rank: int | None, what: str) -> str:
    return f"{ordinal(rank)} by {what}" if rank else f"not by {what}"


def _fate(row: Record, settings: Record, *, of_strongest: bool) -> Fate:
    cap = settings["strongest_document_cap" if of_strongest else "document_cap"]
    reasons = {
        "kept": f"it is evidence number {row['rank']}",
        "filled": f"over its document's cap of {cap}, but there was room: number {row['rank']}",
        "duplicate": "its text is that of a better candidate, which stays",
        "over_cap": f"its document had given the {cap} passages that its cap allows",
        "beyond_limit": f"place {row['place']} in the order, and the limit is {settings['limit']}",
    }
    return Fate(**{name: row[name] for name in _COPIED}, reason=reasons[row["verdict"]])
