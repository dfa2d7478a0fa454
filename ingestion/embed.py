"""Segments get their vectors, each distinct text once.

A text that this index already holds (another page's, or the document's last version's) is not
embedded again. What is embedded is kept beside the job in Valkey batch by batch, so a job that is
stopped resumes at the batch where it was; the job's end throws it away. A text that the embedder
refuses does not keep the others from being embedded, but no document is ingested without it.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from django.db import connection
from redis.exceptions import RedisError

from dolphy.cache import valkey
from dolphy.embedding import Embedder, TextsRefused, Vectors
from dolphy.embedding.meter import metered
from ingestion.account import charge
from ingestion.errors import PassagesRefused
from ingestion.models import Index, IngestionJob

KEPT_SECONDS = 86_400
KEPT_UNDER = "ingestion:vectors:"
_SPACE = b"space"
Progress = Callable[[int, int], None]


def text_key(text: str) -> uuid.UUID:
    """What tells embedded texts apart: 128 bits of BLAKE2b."""
    return uuid.UUID(bytes=hashlib.blake2b(text.encode(), digest_size=16).digest())


def vectors_for(
    job: IngestionJob, index: Index, embedder: Embedder, texts: Sequence[str], progress: Progress
) -> Vectors:
    """Shape (len(texts), dimensions). Raises what the embedder raises; finished batches are kept.

    `progress(done, total)` is called in texts, after each batch; what it raises ends the work.
    Raises `PassagesRefused` with the places in `texts` that could not be embedded.
    """
    keys = [text_key(text) for text in texts]
    wanted = dict(zip(keys, texts, strict=True))
    known = vectors_in(index, list(wanted)) | _beside_job(job, embedder)
    known = {key: known[key] for key in wanted if key in known}
    refused: dict[uuid.UUID, str] = {}
    progress(len(known), len(wanted))
    for batch in _batches([key for key in wanted if key not in known], embedder.batch):
        fresh, not_these = _embed(job, index, embedder, {key: wanted[key] for key in batch})
        known |= fresh
        refused |= not_these
        _keep(job, embedder, fresh)
        progress(len(known) + len(refused), len(wanted))
    if refused:
        raise PassagesRefused({n: refused[key] for n, key in enumerate(keys) if key in refused})
    if not keys:
        return np.empty((0, embedder.space.dimensions), np.float32)
    return np.stack([known[key] for key in keys])


def _batches(keys: list[uuid.UUID], size: int) -> Iterator[list[uuid.UUID]]:
    for start in range(0, len(keys), size):
        yield keys[start : start + size]


def _embed(
    job: IngestionJob, index: Index, embedder: Embedder, texts: dict[uuid.UUID, str]
) -> tuple[dict[uuid.UUID, Vectors], dict[uuid.UUID, str]]:
    """The vectors of one batch, and why there are none for some; its cost goes on the account."""
    keys = list(texts)
    refused: dict[int, str] = {}
    with metered() as use:
        try:
            vectors = embedder.embed_passages(list(texts.values()))
        except TextsRefused as error:
            vectors, refused = error.vectors, error.refused
        finally:
            charge(job.tenant_id, index.space_id, use, texts=len(texts))
    fresh = {key: vectors[n] for n, key in enumerate(keys) if n not in refused}
    return fresh, {keys[n]: reason for n, reason in refused.items()}


def forget(job: IngestionJob) -> None:
    """Drop what was kept beside the job, which has ended."""
    try:
        valkey().delete(_name(job))
    except RedisError:  # it expires by itself
        return


def _name(job: IngestionJob) -> str:
    return f"{KEPT_UNDER}{job.pk}"


def vectors_in(index: Index, keys: Sequence[uuid.UUID]) -> dict[uuid.UUID, Vectors]:
    """The vectors that an index holds of these texts, each of shape (dimensions,)."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT DISTINCT ON (text_key) text_key, vector::text FROM ingestion_indexedpassage "
            "WHERE index_id = %s AND tenant_id = %s AND text_key = ANY(%s)",
            [index.pk, index.tenant_id, list(keys)],
        )
        return {key: np.fromstring(text[1:-1], np.float32, sep=",") for key, text in cursor}


def _beside_job(job: IngestionJob, embedder: Embedder) -> dict[uuid.UUID, Vectors]:
    try:
        kept: Any = valkey().hgetall(_name(job))
        if kept and kept.pop(_SPACE, None) != str(embedder.space).encode():
            valkey().delete(_name(job))  # kept by an attempt in another space
            return {}
    except RedisError:  # nothing kept means everything is embedded: slower, never wrong
        return {}
    width = embedder.space.dimensions * 4
    return {
        uuid.UUID(bytes=key): np.frombuffer(value, np.float32)
        for key, value in kept.items()
        if len(value) == width
    }


def _keep(job: IngestionJob, embedder: Embedder, vectors: dict[uuid.UUID, Vectors]) -> None:
    if not vectors:
        return
    try:
        pipe = valkey().pipeline()
        pipe.hset(_name(job), _SPACE, str(embedder.space))
        pipe.hset(_name(job), mapping={key.bytes: v.tobytes() for key, v in vectors.items()})
        pipe.expire(_name(job), KEPT_SECONDS)
        pipe.execute()
    except RedisError:  # the work goes on; only a resume would have to embed again
        return
