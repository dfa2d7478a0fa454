"""Any OpenAI-compatible embeddings endpoint.

A request is bounded by items and by tokens (APIs cap both). The client repeats 429, 5xx and
timeouts with jitter and waits as long as Retry-After says, up to two minutes; what still fails
then, or should wait longer, is `EmbedderUnavailable`, and the job that needed it comes back later.
So is an answer that never ends or that is none (`bounded.py`): it says something of the endpoint's
moment and nothing of the texts. Vectors that cannot be right are refused at once.

An endpoint that refuses a request refuses all of it for the sake of one text. Such a request is
halved until the text is alone, so that the others keep their vectors; when several are refused and
none was accepted, a plain word is tried, and if that is refused too it is not the texts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import openai

from dolphy.embedding import meter
from dolphy.embedding.bounded import BoundedClient, NoAnswer
from dolphy.embedding.space import (
    BadVectors,
    EmbedderUnavailable,
    Space,
    TextsRefused,
    Vectors,
    checked,
)

REQUEST_TOKENS = 100_000
REQUEST_TEXTS = 64
REFUSALS_BEFORE_DOUBT = 4
ANSWER_BYTES = 64 * 1024 * 1024  # five times what 64 vectors of 8,000 numbers are written with
PLAIN_WORD = "word"
TRIES, TRIES_FOR_A_QUESTION = 5, 2  # somebody waits for a question's answer
_NO_VECTORS = (AttributeError, TypeError, ValueError, OverflowError)
REFUSED = {400, 413, 422}  # statuses that are about the texts, or about how many they are


class RemoteEmbedder:
    """Embeds over HTTP in the space named by the endpoint, the model and its dimensions."""

    batch = REQUEST_TEXTS

    def __init__(
        self,
        model: str,
        dimensions: int,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        max_tokens: int = 8000,
        request_tokens: int = REQUEST_TOKENS,
        timeout: float = 30.0,
        total: float = 60.0,
    ) -> None:
        """Seconds: `timeout` for the next byte of an answer, `total` for all of a request."""
        self._client = openai.OpenAI(
            base_url=base_url,
            api_key=api_key or "none",
            timeout=timeout,
            max_retries=TRIES - 1,
            http_client=BoundedClient(
                seconds=total,
                size=ANSWER_BYTES,
                check=_require_rows,
                event_hooks={"request": [_count_request]},
            ),
        )
        self._for_questions = self._client.with_options(max_retries=TRIES_FOR_A_QUESTION - 1)
        self._request_tokens = request_tokens
        self.max_tokens = max_tokens
        self.space = Space(self._client.base_url.host, model, dimensions)

    def count_tokens(self, text: str) -> int:
        """An upper estimate: Turkish takes about 3 bytes a token in the common vocabularies."""
        return len(text.encode()) // 2 + 1

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Raises `TextsRefused`, with the vectors of all others, when some cannot be embedded."""
        search = _Search(self, len(texts))
        for places in self._requests(texts):
            search.embed(places, texts)
        return search.result()

    def embed_question(self, text: str) -> Vectors:
        try:
            return self.request([text], self._for_questions)[0]
        except _Refused as error:
            raise BadVectors(f"{self.space} refused the text: {error}") from error

    def _requests(self, texts: Sequence[str]) -> Iterator[range]:
        """Places of texts that fit into one request together."""
        start, tokens = 0, 0
        for place, text in enumerate(texts):
            size = self.count_tokens(text)
            full = place - start == self.batch or tokens + size > self._request_tokens
            if place > start and full:
                yield range(start, place)
                start, tokens = place, 0
            tokens += size
        if texts:
            yield range(start, len(texts))

    def request(self, texts: list[str], client: openai.OpenAI | None = None) -> Vectors:
        """One request: shape (len(texts), dimensions). Raises `_Refused` when the texts are why."""
        try:
            answer = (client or self._client).embeddings.create(
                model=self.space.model, input=texts, encoding_format="float"
            )
        except openai.APIStatusError as error:
            if error.status_code in REFUSED:
                raise _Refused(error.message) from error
            raise self._unavailable(error, error.response.headers) from error
        except openai.OpenAIError as error:
            raise self._unavailable(error) from error
        except _NO_VECTORS as error:  # openai makes its own values of the answer's first
            raise BadVectors(f"{self.space} returned something that is no vectors.") from error
        meter.count(tokens=_billed(answer, sum(map(self.count_tokens, texts))))
        return checked(self._vectors(answer, len(texts)), self.space, len(texts))

    def _unavailable(self, error: openai.OpenAIError, headers: Any = None) -> EmbedderUnavailable:
        status = getattr(error, "status_code", None)
        why = status or (error.__cause__ if isinstance(error.__cause__, NoAnswer) else None)
        what = f"{type(error).__name__} ({why})" if why else type(error).__name__
        return EmbedderUnavailable(f"{self.space}: {what}.", wait=_seconds(headers))

    def _vectors(self, answer: Any, count: int) -> Vectors:
        try:
            rows = sorted(answer.data, key=lambda row: row.index)
            if [row.index for row in rows] != list(range(count)):
                raise BadVectors(f"{self.space} answered for other texts than it was given.")
            return np.array([row.embedding for row in rows], dtype=np.float32)
        except _NO_VECTORS as error:
            raise BadVectors(f"{self.space} returned something that is no vectors.") from error


class _Refused(Exception):
    """The endpoint will not embed what is in this request."""


class _Search:
    """Embeds what it can of some texts and remembers which ones were refused, and why."""

    def __init__(self, embedder: RemoteEmbedder, count: int) -> None:
        self.embedder = embedder
        self.vectors = np.zeros((count, embedder.space.dimensions), np.float32)
        self.refused: dict[int, str] = {}
        self.anything_accepted = False

    def embed(self, places: range, texts: Sequence[str]) -> None:
        try:
            fresh = self.embedder.request([texts[place] for place in places])
        except _Refused as error:
            self._halve(places, texts, error)
        else:
            self.vectors[places.start : places.stop] = fresh
            self.anything_accepted = True

    def _halve(self, places: range, texts: Sequence[str], error: _Refused) -> None:
        if len(places) == 1:
            self.refused[places[0]] = str(error)
        else:
            middle = len(places) // 2
            self.embed(places[:middle], texts)
            self.embed(places[middle:], texts)
        if not self.anything_accepted and len(self.refused) >= REFUSALS_BEFORE_DOUBT:
            self._doubt()

    def _doubt(self) -> None:
        try:
            self.embedder.request([PLAIN_WORD])
        except _Refused as error:
            raise BadVectors(f"{self.embedder.space} refuses any text: {error}") from error
        self.anything_accepted = True

    def result(self) -> Vectors:
        if self.refused:
            raise TextsRefused(self.vectors, self.refused)
        return self.vectors


def _count_request(request: object) -> None:
    meter.count(requests=1)


def _require_rows(body: bytes) -> None:
    """ValueError when this is no answer about embeddings, good ones or bad."""
    answer = json.loads(body)
    rows = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(rows, list) or not all(_is_row(row) for row in rows):
        raise ValueError("no embeddings in it")


def _is_row(row: object) -> bool:
    return isinstance(row, dict) and "embedding" in row


def _billed(answer: Any, estimate: int) -> int:
    """Tokens as the endpoint counts them; our `estimate` when it does not say or talks nonsense."""
    billed = getattr(getattr(answer, "usage", None), "total_tokens", None)
    # The estimate is two bytes a token, and no vocabulary has tokens of much less than one.
    return billed if type(billed) is int and 0 < billed <= 4 * estimate else estimate


def _seconds(headers: Any) -> float:
    """How long the endpoint asks to be left alone; 0 when it does not say in seconds."""
    try:
        seconds = float((headers or {}).get("retry-after", 0))
    except ValueError:
        return 0.0
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0
