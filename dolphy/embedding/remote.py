"""Any OpenAI-compatible embeddings endpoint.

A request is bounded by items and by tokens (APIs cap both). The client retries 429, 5xx and
timeouts with jitter, honouring Retry-After; what is still failing then is `EmbedderUnavailable`,
and the job that needed it is tried again later.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import openai

from dolphy.embedding.space import BadVectors, EmbedderUnavailable, Space, Vectors, checked

REQUEST_TOKENS = 100_000


class RemoteEmbedder:
    """Embeds over HTTP in the space named by the endpoint, the model and its dimensions."""

    batch = 64

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        max_tokens: int = 8000,
        timeout: float = 30.0,
    ) -> None:
        self._client = openai.OpenAI(
            base_url=base_url, api_key=api_key or "none", timeout=timeout, max_retries=4
        )
        self.max_tokens = max_tokens
        self.space = Space(self._client.base_url.host, model, dimensions)

    def count_tokens(self, text: str) -> int:
        """An upper estimate: Turkish takes about 3 bytes a token in the common vocabularies."""
        return len(text.encode()) // 2 + 1

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        parts = [self._request(batch) for batch in self._batches(texts)]
        return np.concatenate(parts) if parts else np.empty((0, self.space.dimensions), np.float32)

    def embed_question(self, text: str) -> Vectors:
        return self._request([text])[0]

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        tokens = 0
        for text in texts:
            size = self.count_tokens(text)
            if batch and (len(batch) == self.batch or tokens + size > REQUEST_TOKENS):
                yield batch
                batch, tokens = [], 0
            batch.append(text)
            tokens += size
        if batch:
            yield batch

    def _request(self, texts: list[str]) -> Vectors:
        try:
            answer = self._client.embeddings.create(
                model=self.space.model, input=texts, encoding_format="float"
            )
        except openai.BadRequestError as error:
            raise BadVectors(f"{self.space} refused the text: {error.message}") from error
        except openai.OpenAIError as error:
            raise EmbedderUnavailable(f"{self.space}: {type(error).__name__}.") from error
        rows = sorted(answer.data, key=lambda row: row.index)
        try:
            vectors = np.array([row.embedding for row in rows], dtype=np.float32)
        except (TypeError, ValueError) as error:
            raise BadVectors(f"{self.space} returned rows of different widths.") from error
        return checked(vectors, self.space, len(texts))
