"""How much a run measures."""

from __future__ import annotations

from dataclasses import dataclass

from ingestion.graph import EXACT_UP_TO

MEASURED = (30, 300, 1_000, 3_000, 5_000)
LARGER = (20_000, 100_000, 300_000)
OTHER = EXACT_UP_TO - 100  # passages of an agent that is only there: most businesses are small


@dataclass(frozen=True)
class Size:
    """Rows of the table, agents in it (0: as many as it takes), rounds, documents ingested."""

    passages: int
    agents: int = 0
    rounds: int = 120
    documents: int = 3

    def measured(self) -> list[int]:
        """The agents that are looked at, smallest first: as many as the table holds."""
        sizes: list[int] = []
        for size in (*MEASURED, *LARGER):
            if sum(sizes) + size <= self.passages:
                sizes.append(size)
        return sizes

    def others(self) -> list[int]:
        """The agents that share the rest of the table and are only there."""
        left = self.passages - sum(self.measured())
        count = self.agents - len(self.measured()) if self.agents else -(-left // OTHER)
        return [left // count] * count if count > 0 and left >= count else []
