"""What was embedded for a passage, rebuilt from what is stored: title, heading path and text.

The title is cut to the embedder's limit as segmentation cuts it. Whether the result is really what
was embedded is told by its `text_key`: after a document is renamed it differs until the document
has been ingested again.
"""

from __future__ import annotations

from collections.abc import Sequence

from dolphy.embedding import Embedder
from ingestion.segment import Segment, title_within


def rebuilt(title: str, heading: Sequence[str], text: str, embedder: Embedder) -> str:
    title = title_within(title, embedder.count_tokens, embedder.max_tokens)
    return Segment(title, tuple(heading), None, text, 0).whole
