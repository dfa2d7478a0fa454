"""A web process of the benchmark's own, asked over HTTP as a program would ask it."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from retrieval.benchmark.measure import Operation
from tenants.models import Agent, ApiKey

HOST = "127.0.0.1"
SECONDS_TO_START = 60


@contextmanager
def search_over_http(agent: Agent, questions: Sequence[str]) -> Iterator[Operation]:
    """One kept connection to a fresh uvicorn, which ends with the block."""
    _, secret = ApiKey.issue(agent.tenant, "benchmark", agent=agent)
    with _web() as port:
        client = http.client.HTTPConnection(HOST, port, timeout=30)
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

        def run(number: int) -> object:
            body = json.dumps({"question": questions[number % len(questions)]})
            client.request("POST", f"/api/v1/agents/{agent.pk}/search", body, headers)
            answer = client.getresponse()
            content = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"HTTP {answer.status}: {content[:300]!r}")
            return content

        try:
            yield run
        finally:
            client.close()


@contextmanager
def _web() -> Iterator[int]:
    port = _free_port()
    command = [sys.executable, "-m", "uvicorn", "dolphy.asgi:application"]
    options = ["--host", HOST, "--port", str(port), "--log-level", "warning", "--no-access-log"]
    process = subprocess.Popen([*command, *options], env=os.environ)  # noqa: S603 (our own command)
    try:
        _wait(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def _wait(port: int, process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + SECONDS_TO_START
    while time.monotonic() < until and process.poll() is None:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("The web process did not start.")
