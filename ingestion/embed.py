"""Segments get their vectors, each distinct text once.

A text that this index already holds (another page's, or the document's last version's) is not
embedded again. What is embedded is kept beside the job in Valkey batch by batch, so a job that is
stopped resumes at the batch where it was; the job's end throws it away.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Sequence

import numpy as np
from django.db import connection
from redis.exceptions import RedisError

from dolphy.cache import valkey
from dolphy.embedding import Embedder, Vectors
from ingestion.models import Index, IngestionJob

KEPT_SECONDS = 86_400
_SPACE = b"space"
Progress = Callable[[int, int], None]


def text_key(text: str) -> uuid.UUID:
    """What tells embedded texts apart: 128 bits of BLAKE2b."""
    return uuid.UUID(bytes=hashlib.blake2b(text.encode(), digest_size=16).digest())


def vectors_for(
    job: IngestionJob, index: Index, embedder: Embedder, texts: Sequence[str], progress: Progress
) -> Vectors:
    """Shape (len(texts), dimensions). Raises what the embedder raises; finished batches are kept."""
    keys = [text_key(text) for text in texts]
    wanted = dict(zip(keys, texts, strict=True))
    known = vectors_in(index, list(wanted)) | _beside_job(job, embedder)
    missing = [key for key in wanted if key not in known]
    done = len(wanted) - len(missing)
    progress(done, len(wanted))
    for start in range(0, len(missing), embedder.batch):
        batch = missing[start : start + embedder.batch]
        fresh = embedder.embed_passages([wanted[key] for key in batch])
        known |= dict(zip(batch, fresh, strict=True))
        _keep(job, embedder, {key: known[key] for key in batch})
        progress(done + start + len(batch), len(wanted))
    if not keys:
        return np.empty((0, embedder.space.dimensions), np.float32)
    return np.stack([known[key] for key in keys])


def forget(job: IngestionJob) -> None:
    """Drop what was kept beside the job."""
    try:
        valkey().delete(_name(job))
    except RedisError:  # it expires by itself
        return


def _name(job: IngestionJob) -> str:
    return f"ingestion:vectors:{job.pk}"


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
        kept = valkey().hgetall(_name(job))
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
    try:
        pipe = valkey().pipeline()
        pipe.hset(_name(job), _SPACE, str(embedder.space))
        pipe.hset(_name(job), mapping={key.bytes: v.tobytes() for key, v in vectors.items()})
        pipe.expire(_name(job), KEPT_SECONDS)
        pipe.execute()
    except RedisError:  # the work goes on; only a resume would have to embed again
        return
