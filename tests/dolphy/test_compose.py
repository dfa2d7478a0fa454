"""docker-compose.yml and Dockerfile: what can be read from them without an engine to run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from dolphy.embedded.postgres import KEPT_MEMORY

CHECKOUT = Path(__file__).resolve().parents[2]
OURS = ("migrate", "web", "worker", "beat")
SECRETS = ("SECRET_KEY", "POSTGRES_PASSWORD", "VALKEY_PASSWORD")

COMPOSE: dict[str, Any] = yaml.safe_load((CHECKOUT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (CHECKOUT / "Dockerfile").read_text()
ENVIRONMENT: dict[str, str] = SERVICES["web"]["environment"]


def references(text: str) -> dict[str, str]:
    """Each `${NAME…}` of a text: its name and what follows it."""
    return dict(re.findall(r"(?<!\$)\$\{(\w+)([^}]*)\}", text))


def filled(text: str) -> str:
    """A text with its variables filled by their defaults, as Compose does."""
    return re.sub(r"\$\{\w+:?-?([^}]*)\}", r"\1", text)


def test_it_runs_a_database_a_broker_and_the_four_of_ours() -> None:
    assert set(SERVICES) == {"postgres", "valkey", *OURS}
    assert SERVICES["postgres"]["image"].startswith("pgvector/pgvector:pg")


@pytest.mark.parametrize("name", OURS)
def test_ours_share_one_environment_and_the_uploaded_files(name: str) -> None:
    assert SERVICES[name]["environment"] == ENVIRONMENT
    assert SERVICES[name]["volumes"] == ["files:/data"]
    assert ENVIRONMENT["MEDIA_ROOT"] == "/data"


def test_its_database_keeps_memory_as_the_embedded_one_does() -> None:
    assert SERVICES["postgres"]["environment"].items() >= KEPT_MEMORY.items()


def test_every_volume_is_named_and_kept() -> None:
    used = {volume.split(":")[0] for one in SERVICES.values() for volume in one["volumes"]}
    assert used == set(COMPOSE["volumes"]) == {"database", "queue", "files"}


def test_it_runs_in_production_without_debug() -> None:
    assert ENVIRONMENT["DOLPHY_ENV"] == "production"
    assert "DEBUG" not in ENVIRONMENT
    assert "DEBUG" not in DOCKERFILE


@pytest.mark.parametrize("secret", SECRETS)
def test_a_secret_comes_from_the_environment_or_nothing_starts(secret: str) -> None:
    text = (CHECKOUT / "docker-compose.yml").read_text()
    found = re.findall(r"(?<!\$)\$\{" + secret + r"([^}]*)\}", text)
    assert found
    assert all(rest.startswith(":?") for rest in found)


def test_no_secret_is_written_down() -> None:
    for service in SERVICES.values():
        for name, value in service.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|KEY|AUTH", name):
                assert re.fullmatch(r"\$\{\w+[^}]*\}", value), name
            if "://" in str(value):
                assert re.search(r"://\w*:\$\{\w+", value), name
    assert not re.search(r"(PASSWORD|SECRET_KEY|API_KEY)=[\w'\"](?!\$)", DOCKERFILE)


def test_the_image_does_not_run_as_root() -> None:
    user = re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE)[-1]
    assert user not in {"root", "0"}
    assert not any("user" in SERVICES[name] for name in OURS)
    assert DOCKERFILE.index("collectstatic") < DOCKERFILE.index("\nUSER ")


def test_the_image_holds_no_state_and_no_secrets() -> None:
    ignored = (CHECKOUT / ".dockerignore").read_text().split()
    assert {".git", ".env*", ".dolphy", ".venv*"} <= set(ignored)


def test_web_is_healthy_when_ready_says_so() -> None:
    assert "/readyz" in str(SERVICES["web"]["healthcheck"]["test"])


def test_nothing_of_ours_starts_before_the_migrations_and_what_they_need() -> None:
    for name in ("web", "worker", "beat"):
        needs = SERVICES[name]["depends_on"]
        assert needs["migrate"]["condition"] == "service_completed_successfully"
        assert needs["postgres"]["condition"] == "service_healthy"
        assert needs["valkey"]["condition"] == "service_healthy"
    assert SERVICES["migrate"]["restart"] == "no"
    assert all("healthcheck" in SERVICES[name] for name in ("postgres", "valkey", "web", "worker"))


def test_the_database_and_the_broker_are_not_open_to_the_network() -> None:
    assert "ports" not in SERVICES["postgres"]
    assert "ports" not in SERVICES["valkey"]
    assert filled(SERVICES["web"]["ports"][0]) == "127.0.0.1:8000:8000"


@pytest.mark.parametrize("name", OURS)
def test_the_program_of_each_command_exists_and_knows_its_options(name: str) -> None:
    """`--help` after the options makes each program read them and stop."""
    command = [filled(word) for word in SERVICES[name]["command"]]
    module = {"python": [], "uvicorn": ["-m", "uvicorn"], "celery": ["-m", "celery"]}
    done = subprocess.run(
        [sys.executable, *module[command[0]], *command[1:], "--help"],
        cwd=CHECKOUT,
        env=os.environ,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def test_the_python_of_a_health_check_is_python() -> None:
    compile(SERVICES["web"]["healthcheck"]["test"][-1], "healthcheck", "exec")


@pytest.mark.skipif(shutil.which("docker") is None, reason="there is no docker command")
def test_compose_itself_accepts_the_file() -> None:
    environment = {**os.environ, **dict.fromkeys((*SECRETS, "ALLOWED_HOSTS"), "x")}
    version = subprocess.run(["docker", "compose", "version"], capture_output=True)
    if version.returncode:
        pytest.skip("docker has no compose command")
    done = subprocess.run(
        ["docker", "compose", "config", "--quiet"],
        cwd=CHECKOUT,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
