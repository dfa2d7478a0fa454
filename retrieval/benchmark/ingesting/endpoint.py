"""A scripted embedding endpoint, OpenAI's way over HTTP, in a process of its own.

Each answer comes after a set delay, however many texts it is for, and any number of requests are
answered at once: an embedder that runs elsewhere. The same text always gets the same vector, one of
a few that are written out beforehand, so that it costs next to nothing here. `GET /counts` says
what it was asked for. Prints its port, then serves until it is ended.

    python -m retrieval.benchmark.ingesting.endpoint SECONDS DIMENSIONS
"""

from __future__ import annotations

import json
import sys
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np

DIFFERENT = 499


class Endpoint(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, seconds: float, dimensions: int) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.seconds = seconds
        self.vectors = written_out(dimensions)
        self.lock = threading.Lock()
        self.counts = {"requests": 0, "texts": 0, "seconds": 0.0}

    def count(self, texts: int, seconds: float) -> None:
        with self.lock:
            self.counts["requests"] += 1
            self.counts["texts"] += texts
            self.counts["seconds"] += seconds

    def answer(self, texts: list[str]) -> bytes:
        rows = ",".join(
            f'{{"object":"embedding","index":{n},"embedding":{self.vector_of(text)}}}'
            for n, text in enumerate(texts)
        )
        tokens = sum(map(len, texts)) // 3
        usage = f'{{"prompt_tokens":{tokens},"total_tokens":{tokens}}}'
        return f'{{"object":"list","model":"scripted","data":[{rows}],"usage":{usage}}}'.encode()

    def vector_of(self, text: str) -> str:
        return self.vectors[zlib.crc32(text.encode()) % len(self.vectors)]


def written_out(dimensions: int) -> list[str]:
    """Unit vectors as JSON."""
    vectors = np.random.default_rng(0).standard_normal((DIFFERENT, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return [json.dumps([round(float(x), 7) for x in one]) for one in vectors]


class _Request(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Endpoint

    def do_POST(self) -> None:
        start = time.perf_counter()
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        time.sleep(self.server.seconds)
        self._send(self.server.answer(texts))
        self.server.count(len(texts), time.perf_counter() - start)

    def do_GET(self) -> None:
        with self.server.lock:
            data = json.dumps(self.server.counts).encode()
        self._send(data)

    def _send(self, data: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


def main(seconds: str, dimensions: str) -> None:
    server = Endpoint(float(seconds), int(dimensions))
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
