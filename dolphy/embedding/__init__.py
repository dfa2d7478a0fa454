"""The embedder: what turns a passage or a question into a vector, and in which space.

`configured()` is the embedder that this installation's settings name; `of(space)` is the one that
answers for a given space (the configured one, or the one before it), or an error: a question is
embedded in the space its index was built in, or refused. Vectors are float32, of unit length, shape
(dimensions,) or (texts, dimensions).
"""

from __future__ import annotations

from dolphy.embedding.choose import configured, of, served
from dolphy.embedding.space import (
    BadVectors,
    Embedder,
    EmbedderUnavailable,
    Space,
    SpaceNotServed,
    TextsRefused,
    Vectors,
    checked,
)

__all__ = [
    "BadVectors",
    "Embedder",
    "EmbedderUnavailable",
    "Space",
    "SpaceNotServed",
    "TextsRefused",
    "Vectors",
    "checked",
    "configured",
    "of",
    "served",
]
