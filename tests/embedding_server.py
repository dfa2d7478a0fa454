"""An OpenAI-compatible embeddings endpoint for tests, over real HTTP, that does as it is told.

A text's vector is the sum of its words' vectors, each drawn from a generator seeded with the model
and the word: deterministic, equal words are near, and two models of one width have nothing in
common. What the server should do wrong is said in `fault`; `weights` makes it answer with another
model than it was asked for, as a provider does that swaps one silently.

    with EmbeddingServer() as server:
        server.configure(settings)          # Django's settings name it from here on
        ...
        server.weights = "another-model"    # same name, same width, other vectors
        server.fault = Fault.RATE_LIMIT
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
from django.conf import settings as django_settings
from django.db import connection

MODEL, DIMENSIONS = "test-embedding", 64


class Fault(Enum):
    NONE = "none"
    OTHER_WIDTH = "eight numbers more than asked for"
    NAN = "one number is NaN"
    ZEROS = "the last vector is all zeros"
    UNNORMALISED = "vectors are three long"
    FEWER = "one vector is missing"
    RATE_LIMIT = "429 with Retry-After"
    SERVER_ERROR = "500"
    BAD_REQUEST = "400"
    HANG = "no answer until the server is closed"
    EVERY_THIRD = "each third request gets a 500"
    DRIP = "the body comes a byte now and then"
    DRIP_HEADERS = "so do the headers"
    ENDLESS = "the body comes fast and never ends"


# What follows the status line, and what is then written again and again.
DRIPPED = {
    Fault.DRIP: (b"Content-Length: 1000000000000\r\n\r\n", b" "),
    Fault.DRIP_HEADERS: (b"X-Slow: ", b"x"),
    Fault.ENDLESS: (b"Content-Length: 1000000000000\r\n\r\n", b" " * 1_000_000),
}


class EmbeddingServer:
    """Counts what it is asked: `requests` is a list of texts per request, faulty ones included;
    `embedded` lists the texts that were answered with vectors."""

    def __init__(self, *, delay: float = 0.0) -> None:
        self.fault = Fault.NONE
        self.weights: str | None = None
        self.body: bytes | None = None  # what a good answer consists of instead
        self.usage: dict[str, Any] = {}  # what it says of its cost instead
        self.delay = delay
        self.retry_after = 1
        self.dimensions: dict[str, int] = {}
        self.requests: list[list[str]] = []
        self.embedded: list[str] = []
        self.before_answer: Callable[[list[str]], None] = lambda texts: None
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> EmbeddingServer:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._closed.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    def configure(self, settings: Any, model: str = MODEL, dimensions: int = DIMENSIONS) -> None:
        """Make this server and model the embedder that Django's settings name."""
        settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = self.base_url, "test"
        settings.EMBEDDING_MODEL, settings.EMBEDDING_DIMENSIONS = model, dimensions
        self.dimensions[model] = dimensions

    def keep_as_previous(
        self, settings: Any, model: str = MODEL, dimensions: int = DIMENSIONS
    ) -> None:
        """Serve this model as well, for agents that are not re-embedded yet."""
        settings.PREVIOUS_OPENAI_BASE_URL, settings.PREVIOUS_OPENAI_API_KEY = self.base_url, "test"
        settings.PREVIOUS_EMBEDDING_MODEL = model
        settings.PREVIOUS_EMBEDDING_DIMENSIONS = dimensions
        self.dimensions[model] = dimensions

    def environment(self, model: str = MODEL, dimensions: int = DIMENSIONS) -> dict[str, str]:
        """The same as `configure`, for a process of its own."""
        self.dimensions[model] = dimensions
        return {
            "OPENAI_BASE_URL": self.base_url,
            "OPENAI_API_KEY": "test",
            "EMBEDDING_MODEL": model,
            "EMBEDDING_DIMENSIONS": str(dimensions),
        }

    def forget(self) -> None:
        """Count from zero again."""
        with self._lock:
            self.requests, self.embedded = [], []

    def answer(self, asked: dict[str, Any]) -> tuple[int, dict[str, str], dict[str, Any]]:
        """(status, headers, body) for one request."""
        texts = [asked["input"]] if isinstance(asked["input"], str) else list(asked["input"])
        with self._lock:
            self.requests.append(texts)
            number = len(self.requests)
            embedded = self.embedded  # what is forgotten meanwhile stays forgotten
        self._closed.wait(self.delay)
        self.before_answer(texts)
        fault = self.fault
        if fault is Fault.HANG:
            self._closed.wait()
        if fault is Fault.RATE_LIMIT:
            return 429, {"Retry-After": str(self.retry_after)}, _error("rate_limit_exceeded")
        if fault is Fault.BAD_REQUEST:
            return 400, {}, _error("invalid_request_error")
        if fault is Fault.SERVER_ERROR or (fault is Fault.EVERY_THIRD and number % 3 == 0):
            return 500, {}, _error("server_error")
        rows = self._spoilt(self._vectors(asked["model"], texts), fault)
        with self._lock:
            embedded += texts
        tokens = sum(len(text.split()) for text in texts)
        answer = _answer(asked["model"], rows, tokens)
        return 200, {}, {**answer, "usage": {**answer["usage"], **self.usage}}

    def drip(self, write: Callable[[bytes], object], data: bytes) -> None:
        """Write a byte now and then until nobody listens or the server is closed."""
        with suppress(OSError):
            while not self._closed.wait(0.02):
                write(data)

    def _vectors(self, model: str, texts: list[str]) -> list[list[float]]:
        width = self.dimensions.get(model, DIMENSIONS)
        return [vector_of(self.weights or model, text, width).tolist() for text in texts]

    def _spoilt(self, rows: list[list[float]], fault: Fault) -> list[list[float]]:
        if fault is Fault.OTHER_WIDTH:
            return [[*row, *[0.0] * 8] for row in rows]
        if fault is Fault.NAN:
            return [*rows[:-1], [float("nan"), *rows[-1][1:]]]
        if fault is Fault.ZEROS:
            return [*rows[:-1], [0.0] * len(rows[-1])]
        if fault is Fault.UNNORMALISED:
            return [[3 * number for number in row] for row in rows]
        return rows[:-1] if fault is Fault.FEWER else rows


def vector_of(model: str, text: str, dimensions: int = DIMENSIONS) -> np.ndarray:
    """What the server answers for a text: float32, of unit length, shape (dimensions,)."""
    words = re.findall(r"\w+", text.lower()) or ["∅"]
    total = sum((_word(model, word, dimensions) for word in words), np.zeros(dimensions))
    return (total / np.linalg.norm(total)).astype(np.float32)


def _word(model: str, word: str, dimensions: int) -> np.ndarray:
    seed = hashlib.sha256(f"{model}\0{word}".encode()).digest()[:8]
    return np.random.default_rng(int.from_bytes(seed)).standard_normal(dimensions)


def _answer(model: str, rows: list[list[float]], tokens: int) -> dict[str, Any]:
    data = [{"object": "embedding", "index": n, "embedding": row} for n, row in enumerate(rows)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": model, "data": data, "usage": usage}


def _error(code: str) -> dict[str, Any]:
    return {"error": {"message": f"Scripted: {code}.", "type": code, "code": code}}


def _handler(server: EmbeddingServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, headers, body = server.answer(asked)
            data = json.dumps(body).encode()
            if status == 200 and server.body is not None:
                data = server.body
            if server.fault in DRIPPED:
                start, drop = DRIPPED[server.fault]
                self.wfile.write(b"HTTP/1.1 200 OK\r\n" + start)
                server.drip(self.wfile.write, drop)
                self.close_connection = True
                return
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *args: object) -> None:
            """Tests stay quiet."""

    return Handler


def services() -> dict[str, str]:
    """The test's database and broker, for a process of its own."""
    database = connection.settings_dict
    parts = {"host": database["HOST"], "port": database["PORT"], "user": database["USER"]}
    parts |= {"dbname": database["NAME"], "password": database["PASSWORD"]}
    url = " ".join(f"{name}='{value}'" for name, value in parts.items() if value)
    return {"DATABASE_URL": url, "REDIS_URL": django_settings.REDIS_URL}
