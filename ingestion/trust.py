"""Trust: an index whose probe failed is neither searched nor added to.

The verdict lies in the index row, which every search reads anyway, so asking costs nothing. An
operator may say that it does not count, for one agent (`probe_ignored`) or for all
(DOLPHY_IGNORE_PROBE); then every trace and the health page say so.
"""

from __future__ import annotations

from django.conf import settings

from ingestion.errors import SpaceMismatch
from ingestion.models import Index

TRUSTED, IGNORED, MISMATCH = "trusted", "mismatch ignored", "mismatch"


def trust_of(index: Index) -> str:
    if index.trusted:
        return TRUSTED
    ignored = index.probe_ignored or settings.DOLPHY_IGNORE_PROBE
    return IGNORED if ignored else MISMATCH


def check_trust(index: Index) -> str:
    """`trusted` or `mismatch ignored`. Raises `SpaceMismatch`."""
    trust = trust_of(index)
    if trust == MISMATCH:
        raise SpaceMismatch(
            "Searches would answer with noise. Put the model back, or re-embed the agent."
        )
    return trust
