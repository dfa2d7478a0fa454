"""The commands of docker-compose.yml, run here against a PostgreSQL and a Valkey given by URL."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dolphy import embedded
from tests.dolphy.test_compose import CHECKOUT, SERVICES, filled

PATIENCE = 90  # seconds, on a busy machine
PROGRAMS = {"python": [], "uvicorn": ["-m", "uvicorn"], "celery": ["-m", "celery"]}
# As the image is built; writing and compressing the files for real takes a minute.
COLLECT = ["manage.py", "collectstatic", "--noinput", "--dry-run"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[dict[str, str]]:
    """The environment of a container: production, services by URL, a database that is migrated."""
    home = Path(tempfile.mkdtemp(prefix="dolphy-compose-", dir="/tmp"))
    home.chmod(0o711)
    with pytest.MonkeyPatch.context() as patch:
        for name in ("DATABASE_URL", "REDIS_URL", "DOLPHY_STATE", "PYTEST_VERSION"):
            patch.delenv(name, raising=False)
        patch.setenv("DOLPHY_HOME", str(home))
        with embedded.running("test") as services:
            environment = {
                "PATH": os.environ["PATH"],
                "DOLPHY_ENV": "production",
                "SECRET_KEY": "only for this test " * 3,
                "ALLOWED_HOSTS": "help.example.com",
                "DATABASE_URL": services.database_url,
                "REDIS_URL": services.redis_url,
                "MEDIA_ROOT": str(home / "media"),
                "STATIC_ROOT": str(home / "static"),
                "PYTHONUNBUFFERED": "1",
            }
            for command in (COLLECT, command_of("migrate")):
                done = subprocess.run(
                    [sys.executable, *command],
                    cwd=CHECKOUT,
                    env=environment,
                    capture_output=True,
                    text=True,
                )
                assert done.returncode == 0, done.stdout + done.stderr
            yield environment
    shutil.rmtree(home)


def command_of(name: str) -> list[str]:
    """A service's command, as arguments of this Python."""
    program, *words = [filled(word) for word in SERVICES[name]["command"]]
    return [*PROGRAMS[program], *words]


@contextmanager
def started(command: list[str], environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    """The running command; it must still run at the end, and stop when asked."""
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=CHECKOUT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process
        assert process.poll() is None
    finally:
        process.send_signal(signal.SIGTERM)
        said, _ = process.communicate(timeout=PATIENCE)
        print(said)


def succeeds_in_time(command: list[str], environment: dict[str, str]) -> bool:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        done = subprocess.run(
            command, cwd=CHECKOUT, env=environment, capture_output=True, text=True
        )
        if done.returncode == 0:
            return True
        print(done.stderr[-1000:])
        time.sleep(0.5)
    return False


def test_web_answers_its_health_check(server: dict[str, str]) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    check = SERVICES["web"]["healthcheck"]["test"][-1].replace("8000", port)
    command = [port if word == "8000" else word for word in command_of("web")]
    with started(command, server):
        assert succeeds_in_time([sys.executable, "-c", check], server)


def test_the_worker_answers_its_health_check(server: dict[str, str]) -> None:
    check = SERVICES["worker"]["healthcheck"]["test"][-1].replace("$$", "$")
    environment = {**server, "HOSTNAME": socket.gethostname()}
    check = check.replace("celery -A", f"'{sys.executable}' -m celery -A")
    with started(command_of("worker"), environment):
        assert succeeds_in_time(["sh", "-c", check], environment)


def test_beat_keeps_its_schedule(server: dict[str, str], tmp_path: Path) -> None:
    schedule = tmp_path / "beat-schedule"
    command = [
        str(schedule) if word == "/tmp/beat-schedule" else word for word in command_of("beat")
    ]
    with started(command, server):
        deadline = time.monotonic() + PATIENCE
        while not list(tmp_path.glob("beat-schedule*")) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert list(tmp_path.glob("beat-schedule*"))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("SECRET_KEY", "", "SECRET_KEY"),
        ("DEBUG", "true", "DEBUG"),
        ("ALLOWED_HOSTS", "*", "ALLOWED_HOSTS"),
        ("DATABASE_URL", "", "DATABASE_URL"),
        ("REDIS_URL", "", "REDIS_URL"),
    ],
)
def test_production_refuses_to_start_unsafely(
    server: dict[str, str], name: str, value: str, reason: str
) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "check"],
        cwd=CHECKOUT,
        env={**server, name: value},
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert done.stderr.startswith(reason)
