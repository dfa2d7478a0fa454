"""The question: what is refused at the door, and its embedding, remembered in Valkey.

The cache is keyed by space and text, so two spaces never share an entry. When Valkey does not
answer the question is embedded again, and the trace says where its vector came from.
"""

from __future__ import annotations

import numpy as np
from redis.exceptions import RedisError

from dolphy import embedding
from dolphy.cache import valkey
from dolphy.embedding.remembered import name_of
from retrieval.errors import EmptyQuestion, QuestionNotText, QuestionTooLong, WordlessQuestion

LONGEST = 2_000
KEPT_SECONDS = 7 * 86_400


def checked(question: str) -> str:
    """The question as typed, without surrounding space; or the error that says why not."""
    if "\0" in question or (not question.isprintable() and _has_control(question)):
        raise QuestionNotText
    question = question.strip()
    if not question:
        raise EmptyQuestion
    if len(question) > LONGEST:
        raise QuestionTooLong(f"It has {len(question):,} characters; at most {LONGEST:,} are read.")
    if not any(character.isalnum() for character in question):
        raise WordlessQuestion
    return question


def _has_control(text: str) -> bool:
    return any((ord(ch) < 32 and ch not in "\t\n\r") or 0xD800 <= ord(ch) <= 0xDFFF for ch in text)


def embedded(space: embedding.Space, question: str) -> tuple[embedding.Vectors, str]:
    """The question's vector, shape (dimensions,), and where it came from: cache or embedder.

    Raises `SpaceNotServed` when this installation embeds in another space, cached or not, and
    `QuestionTooLong` when the embedder would have to read it in several windows: few characters can
    be many tokens, and one question must not hold up those of others.
    """
    embedder = embedding.of(space)
    name = name_of(space, question)
    if (kept := _kept(name, space)) is not None:
        return kept, "cache"
    tokens = embedder.count_tokens(question)
    if tokens > embedder.max_tokens:
        most = embedder.max_tokens
        raise QuestionTooLong(f"It has {tokens:,} tokens; the embedder reads {most:,}.")
    vector = embedder.embed_question(question)
    try:
        valkey().set(name, vector.tobytes(), ex=KEPT_SECONDS)
    except RedisError:
        return vector, "embedder, cache away"
    return vector, "embedder"


def _kept(name: str, space: embedding.Space) -> embedding.Vectors | None:
    try:
        value = valkey().get(name)
    except RedisError:  # the caller embeds, and says that the cache is away
        return None
    if not isinstance(value, bytes) or len(value) != space.dimensions * 4:
        return None
    return np.frombuffer(value, np.float32)
