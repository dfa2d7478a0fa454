"""Backend health: whether what is stored can be trusted, and whether what serves it is there.

`stored` reads what the database knows of spaces, agents and branches; `surroundings` asks embedder,
queue and workers; `report` makes one answer of both and says what is wrong; `view` is the door.
"""

from __future__ import annotations

from retrieval.backend_health.report import report

__all__ = ["report"]
