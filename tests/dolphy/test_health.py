"""Health for machines."""

from __future__ import annotations

import socket
import threading
from typing import Any

import psycopg
import pytest
from django.db import OperationalError
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from dolphy import health


def test_a_living_process_says_so_without_asking_the_database() -> None:
    response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"alive": True})


def test_a_process_with_all_its_parts_is_ready(db: None) -> None:
    response = Client().get("/readyz")
    assert (response.status_code, response.json()) == (200, {"ready": True, "missing": {}})
    assert "no-cache" in response["Cache-Control"]


def test_a_broker_that_is_away_is_named(db: None, settings: Any) -> None:
    settings.REDIS_URL = "unix:///nowhere/valkey.sock"
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json() == {"ready": False, "missing": {"broker": "does not answer"}}


def test_a_migration_that_is_not_applied_is_named(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    applied = MigrationRecorder.applied_migrations

    def all_but_one(recorder: MigrationRecorder) -> dict[tuple[str, str], Any]:
        known = dict(applied(recorder))
        del known["retrieval", "0002_walls"]
        return known

    monkeypatch.setattr(MigrationRecorder, "applied_migrations", all_but_one)
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert "retrieval.0002_walls" in response.json()["missing"]["migrations"]


def test_a_database_that_is_away_is_named_and_its_address_is_not(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away() -> None:
        raise OperationalError("host=10.0.0.1 refused")

    away.__name__ = "database"
    monkeypatch.setattr(health, "CHECKS", (away,))
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["missing"] == {"database": "does not answer"}


def test_a_part_that_hangs_is_not_waited_for(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    end = threading.Event()

    def database() -> None:
        end.wait(60)

    monkeypatch.setattr(health, "CHECKS", (database, health.broker))
    monkeypatch.setattr(health, "PATIENCE", 0.2)
    response = Client().get("/readyz")
    assert not end.is_set()
    end.set()
    assert response.status_code == 503
    assert response.json()["missing"] == {"database": "does not answer"}


def test_a_database_that_takes_connections_and_says_nothing_is_not_waited_for(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        host, port = mute.getsockname()

        def database() -> None:
            psycopg.connect(f"host={host} port={port} connect_timeout=30").close()

        monkeypatch.setattr(health, "CHECKS", (database,))
        monkeypatch.setattr(health, "PATIENCE", 0.2)
        assert Client().get("/readyz").json()["missing"] == {"database": "does not answer"}


def test_health_answers_only_to_reading() -> None:
    assert Client().post("/healthz").status_code == 405
