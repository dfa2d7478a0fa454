"""The watch: a service that died is started again, within bounds, as long as somebody uses it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest
import redis

from dolphy.embedded import places, watch
from dolphy.embedded.places import EmbeddedUnavailable
from dolphy.embedded.sharing import Lock
from dolphy.embedded.stand import Stand, open_stand
from dolphy.embedded.watch import MOST_STARTS, SETTLED, GivenUp, Unused, Watched

PATIENCE = 60  # seconds, on a busy machine


@dataclass
class Dying:
    """A service that ends as often as it is told to, or cannot even be started."""

    clock: float = 1000.0
    running: bool = False
    broken: bool = False
    started: list[float] = field(default_factory=list)

    def is_running(self) -> bool:
        return self.running

    def start(self) -> None:
        self.started.append(self.clock)
        if self.broken:
            raise EmbeddedUnavailable("The disk is full.")
        self.running = True


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A state folder that somebody uses."""
    users = Lock(tmp_path / "users")
    users.share()
    yield tmp_path
    users.close()


@pytest.fixture
def said() -> list[str]:
    return []


def watched(service: Dying, folder: Path, said: list[str]) -> Watched:
    return Watched("Valkey", service, folder, said.append, clock=lambda: service.clock)


def look_until_given_up(one: Watched, service: Dying) -> GivenUp:
    for _ in range(1000):
        try:
            one.look()
        except GivenUp as error:
            return error
        service.running = False
        service.clock += 0.5
    raise AssertionError("It is started for ever.")


def test_a_service_that_runs_is_left_alone(folder: Path, said: list[str]) -> None:
    service = Dying(running=True)
    watched(service, folder, said).look()
    assert (service.started, said) == ([], [])


def test_a_service_that_died_is_started_at_once_and_that_is_said(
    folder: Path, said: list[str]
) -> None:
    service = Dying()
    watched(service, folder, said).look()
    assert service.running
    assert said == ["Valkey is gone; starting it again (1 of 6).", "Valkey answers again."]


def test_one_that_keeps_dying_is_started_less_and_less_often_and_then_given_up(
    folder: Path, said: list[str]
) -> None:
    service = Dying()
    error = look_until_given_up(watched(service, folder, said), service)
    pauses = [b - a for a, b in zip(service.started, service.started[1:], strict=False)]
    assert pauses == [1, 2, 4, 8, 16]
    assert len(service.started) == MOST_STARTS
    assert "Valkey was started 6 times" in error.message


def test_one_that_cannot_be_started_is_given_up_with_the_reason(
    folder: Path, said: list[str]
) -> None:
    service = Dying(broken=True)
    error = look_until_given_up(watched(service, folder, said), service)
    assert "The disk is full." in error.message
    assert sum("could not be started" in line for line in said) == MOST_STARTS


def test_one_that_ran_for_a_while_has_a_clean_record(folder: Path, said: list[str]) -> None:
    service = Dying()
    one = watched(service, folder, said)
    for _ in range(3 * MOST_STARTS):
        one.look()
        service.clock += SETTLED + 2
        one.look()
        service.running = False
    assert all("(1 of 6)" in line or "answers" in line for line in said)


def test_nothing_is_started_that_nobody_uses(tmp_path: Path, said: list[str]) -> None:
    service = Dying()
    with pytest.raises(Unused):
        watched(service, tmp_path, said).look()
    assert (service.started, said) == ([], [])


# With real servers


@pytest.fixture
def stand() -> Iterator[Stand]:
    home = Path(tempfile.mkdtemp(prefix="dolphy-watch-", dir="/tmp"))
    home.chmod(0o711)
    (home / "test").mkdir(mode=0o711)
    made = open_stand(home / "test")
    yield made
    made.stop()
    shutil.rmtree(home)


def test_killed_servers_answer_again_and_stay_down_once_nobody_uses_them(stand: Stand) -> None:
    users = stand.join()
    watching = subprocess.Popen(
        [sys.executable, "-m", watch.__name__, str(stand.folder), "postgres", "valkey"],
        cwd=places.CHECKOUT,
        env=os.environ,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        stand.valkey.kill()
        wait_until(lambda: answers(stand))
        stand.postgres.kill()
        wait_until(lambda: answers(stand))
        assert watching.poll() is None
        stand.leave(users)
        said, _ = watching.communicate(timeout=PATIENCE)
        assert watching.returncode == 0
    finally:
        watching.kill()
        users.close()
    assert said.splitlines() == [
        "Valkey is gone; starting it again (1 of 6).",
        "Valkey answers again.",
        "PostgreSQL is gone; starting it again (1 of 6).",
        "PostgreSQL answers again.",
    ]
    assert not (stand.postgres.is_running() or stand.valkey.is_running())


def answers(stand: Stand) -> bool:
    try:
        redis.Redis(unix_socket_path=str(stand.valkey.socket)).ping()
        psycopg.connect(stand.postgres.url(), connect_timeout=5).close()
    except (redis.RedisError, psycopg.OperationalError):
        return False
    return True


def wait_until(ready: object) -> None:
    assert callable(ready)
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < deadline
        time.sleep(0.05)
