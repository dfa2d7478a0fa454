"""`manage.py up` runs web, worker and beat, and nothing of it is left when it ends."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from django.core.management import CommandError, call_command

from dolphy.embedded import places, processes
from dolphy.embedded.stand import open_stand

PATIENCE = 120  # seconds, on a busy machine
pytestmark = pytest.mark.slow


class Up:
    """A running `up` with a state folder and a port of its own."""

    def __init__(self, home: Path) -> None:
        self.home, self.port = home, free_port()
        self.log = home / "up.log"
        environment = {
            name: value
            for name, value in os.environ.items()
            if name not in {"DATABASE_URL", "REDIS_URL", "DOLPHY_STATE", "PYTEST_VERSION"}
        }
        with self.log.open("wb") as output:
            self.process = psutil.Popen(
                [sys.executable, "manage.py", "up", "--port", str(self.port)],
                cwd=places.CHECKOUT,
                env={**environment, "DOLPHY_HOME": str(home), "PYTHONUNBUFFERED": "1"},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.family: list[psutil.Process] = []

    def wait_until_all_run(self) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (self.answers() and self.has_a_pool()):
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < deadline, self.said()
            time.sleep(0.2)
        self.family = self.process.children(recursive=True)

    def has_a_pool(self) -> bool:
        """Whether the worker has its child, which inherits its command line."""
        family = [one.cmdline() for one in self.process.children(recursive=True)]
        return sum("worker" in words for words in family) > 1

    def answers(self) -> bool:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=5).close()
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False
        return True

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def member(self, word: str) -> psutil.Process:
        return next(one for one in self.family if word in one.cmdline())

    def left_over(self) -> list[psutil.Process]:
        """What still runs of it, once it had time to end."""
        deadline = time.monotonic() + PATIENCE
        while True:
            left = [one for one in self.family if is_alive(one)]
            services = open_stand(self.home / "dev")
            running = services.postgres.is_running() or services.valkey.is_running()
            if not (left or running) or time.monotonic() > deadline:
                return left
            time.sleep(0.2)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def is_alive(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.fixture
def up() -> Iterator[Up]:
    home = Path(tempfile.mkdtemp(prefix="dolphy-up-", dir="/tmp"))
    home.chmod(0o711)
    running = Up(home)
    yield running
    if running.process.poll() is None:
        running.process.kill()
        running.process.wait()
    running.left_over()
    shutil.rmtree(home, ignore_errors=True)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_everything_when_asked(up: Up, number: signal.Signals) -> None:
    up.wait_until_all_run()
    assert f"http://127.0.0.1:{up.port}/" in up.said()
    up.process.send_signal(number)
    assert up.process.wait(PATIENCE) == 0, up.said()
    assert up.left_over() == []
    assert not open_stand(up.home / "dev").postgres.is_running()


def test_when_one_process_dies_the_rest_stops_and_the_exit_code_says_so(up: Up) -> None:
    up.wait_until_all_run()
    up.member("beat").kill()
    assert up.process.wait(PATIENCE) == 1, up.said()
    assert up.left_over() == []


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells a process of its parent's death")
def test_a_kill_leaves_nothing_behind(up: Up) -> None:
    up.wait_until_all_run()
    up.process.kill()
    assert up.left_over() == []
    assert not open_stand(up.home / "dev").postgres.is_running()
    assert not up.answers()


def test_a_taken_port_is_said_by_name() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "manage.py", "up", "--port", str(port)],
            cwd=places.CHECKOUT,
            env={name: value for name, value in os.environ.items() if name != "PYTEST_VERSION"},
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1
    assert f"Port {port} cannot be used" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("port", ["0", "-1", "99999"])
def test_a_port_that_there_is_not_is_refused(port: str) -> None:
    with pytest.raises(CommandError, match=f"no port {port}"):
        call_command("up", f"--port={port}")


def kill_postmaster(up: Up) -> None:
    """What nobody can prepare for: the server alone, its backends left to find out."""
    postgres = open_stand(up.home / "dev").postgres
    postmaster = processes.find(postgres.data / "postmaster.pid", "postgres", postgres.data)
    assert postmaster is not None
    postmaster.kill()


def health(up: Up) -> int:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{up.port}/readyz", timeout=5) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as refused:
        return refused.code
    except OSError:
        return 0


def wait_until_ready(up: Up) -> None:
    deadline = time.monotonic() + PATIENCE
    while health(up) != 200:
        assert up.process.poll() is None, up.said()
        assert time.monotonic() < deadline, up.said()
        time.sleep(0.2)


def test_services_that_are_killed_are_started_again(up: Up) -> None:
    up.wait_until_all_run()
    wait_until_ready(up)
    services = open_stand(up.home / "dev")
    for kill, name in ((kill_postmaster, "PostgreSQL"), (kill_valkey, "Valkey")):
        kill(up)
        wait_for_line(up, f"{name} answers again.")
        wait_until_ready(up)
    assert services.postgres.is_running() and services.valkey.is_running()
    assert [one for one in up.family if not is_alive(one)] == []  # web, worker and beat went on
    up.process.send_signal(signal.SIGINT)
    assert up.process.wait(PATIENCE) == 0, up.said()
    assert up.left_over() == []


def kill_valkey(up: Up) -> None:
    open_stand(up.home / "dev").valkey.kill()


def wait_for_line(up: Up, line: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while line not in up.said():
        assert up.process.poll() is None, up.said()
        assert time.monotonic() < deadline, up.said()
        time.sleep(0.2)
