"""Vectors of corpora on disk, by space and text, so that a second evaluation embeds nothing.

One SQLite file a space under the state folder. Batches are kept as they come: a run that was
stopped goes on where it was.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
from django.conf import settings

from dolphy.embedding import Embedder, Space, Vectors
from ingestion.embed import text_key

Progress = Callable[[int, int], None]
_PATIENCE = 30.0


def vectors_for(embedder: Embedder, texts: Sequence[str], progress: Progress) -> Vectors:
    """Shape (len(texts), dimensions); each distinct text is embedded once, ever, in its space.

    Raises what the embedder raises; finished batches are kept.
    """
    wanted = {text_key(text).bytes: text for text in texts}
    with closing(_open(embedder.space)) as store:
        known = _known(store, list(wanted), embedder.space)
        missing = sorted((key for key in wanted if key not in known), key=lambda k: len(wanted[k]))
        done = len(known)
        progress(done, len(wanted))
        for start in range(0, len(missing), embedder.batch):
            batch = missing[start : start + embedder.batch]
            fresh = embedder.embed_passages([wanted[key] for key in batch])
            known |= dict(zip(batch, fresh, strict=True))
            _keep(store, {key: known[key] for key in batch})
            progress(done + start + len(batch), len(wanted))
    return np.stack([known[text_key(text).bytes] for text in texts])


def file_of(space: Space) -> Path:
    name = re.sub(r"[^\w.@-]+", "_", str(space))
    return Path(settings.HOME) / "embeddings" / f"{name}.sqlite"


def _open(space: Space) -> sqlite3.Connection:
    file = file_of(space)
    file.parent.mkdir(parents=True, exist_ok=True)
    store = sqlite3.connect(file, timeout=_PATIENCE)
    store.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")
    return store


def _known(store: sqlite3.Connection, keys: list[bytes], space: Space) -> dict[bytes, Vectors]:
    found = {}
    for key in keys:
        row = store.execute("SELECT vector FROM vectors WHERE key = ?", [key]).fetchone()
        if row is not None and len(row[0]) == space.dimensions * 4:
            found[key] = np.frombuffer(row[0], np.float32)
    return found


def _keep(store: sqlite3.Connection, vectors: dict[bytes, Vectors]) -> None:
    with store:
        store.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?)",
            [(key, vector.astype(np.float32).tobytes()) for key, vector in vectors.items()],
        )
