"""The embedded services: started, shared, killed, started again, each time in a new folder."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest
import redis

from dolphy import embedded
from dolphy.embedded import places, processes
from dolphy.embedded.postgres import KEPT_MEMORY
from dolphy.embedded.stand import Stand, open_stand

USE = """
import sys
from dolphy import embedded
with embedded.running(sys.argv[1]) as services:
    print(services.database_url, services.redis_url, flush=True)
    sys.stdin.readline()
"""
SETTLED = 30  # seconds a keeper may take before a test calls it stuck


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder that root's PostgreSQL account can reach, and no services given."""
    folder = Path(tempfile.mkdtemp(prefix="dolphy-test-", dir="/tmp"))
    folder.chmod(0o711)
    forget_services(monkeypatch, folder)
    yield folder
    for flavour in folder.iterdir():
        if flavour.is_dir() and not flavour.is_symlink() and (flavour / "users").exists():
            open_stand(flavour).stop()
    shutil.rmtree(folder)


@pytest.fixture
def stand(home: Path) -> Iterator[Stand]:
    """Services that forget, not started; stopped and removed at the end."""
    made = open_stand(places.state_folder("test"))
    yield made
    made.stop()


@pytest.fixture
def lasting(home: Path) -> Iterator[Stand]:
    """Services that keep what they hold, as people work with; slower to start."""
    made = open_stand(places.state_folder("dev"))
    yield made
    made.stop()


def forget_services(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    for name in ("DATABASE_URL", "REDIS_URL", "DOLPHY_STATE", "PYTEST_VERSION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DOLPHY_HOME", str(home))


class User:
    """A command that uses the services until `leave`, `kill` or `terminate`."""

    def __init__(self, flavour: str = "dev") -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USE, flavour],
            cwd=places.CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout
        self.database_url, self.redis_url = self.process.stdout.readline().split()

    def leave(self) -> None:
        self.process.communicate("\n", timeout=SETTLED)
        assert self.process.returncode == 0

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def value(url: str, query: str) -> object:
    with psycopg.connect(url, autocommit=True) as connection:
        row = connection.execute(query).fetchone()
        assert row is not None
        return row[0]


def run(url: str, query: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(query)


def is_up(stand: Stand) -> bool:
    return stand.postgres.is_running() or stand.valkey.is_running()


def wait_until_down(stand: Stand) -> None:
    deadline = time.monotonic() + SETTLED
    while is_up(stand) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not is_up(stand)


def test_postgresql_has_pgvector_and_sorts_the_same_on_every_machine(stand: Stand) -> None:
    stand.postgres.start()
    run(stand.postgres.url(), "CREATE EXTENSION vector")
    assert value(stand.postgres.url(), "SELECT '[1,2]'::vector <=> '[1,2]'::vector") == 0
    assert value(stand.postgres.url(), "SELECT 'Z' < 'a' AND 'z' < 'ç'") is True
    assert value(stand.postgres.url(), "SHOW listen_addresses") == ""


def test_a_search_does_not_hand_its_memory_back(stand: Stand) -> None:
    stand.postgres.start()
    server = int((stand.postgres.data / "postmaster.pid").read_text().split()[0])
    assert psutil.Process(server).environ().items() >= KEPT_MEMORY.items()


def test_valkey_refuses_to_forget_and_keeps_a_queued_job_over_a_restart(lasting: Stand) -> None:
    lasting.valkey.start()
    client = redis.from_url(lasting.valkey.url)
    client.lpush("queue", "job")
    assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
    lasting.valkey.stop()
    lasting.valkey.start()
    assert client.lrange("queue", 0, -1) == [b"job"]


def test_the_sockets_are_in_a_folder_that_nobody_else_can_enter(stand: Stand) -> None:
    assert stat.S_IMODE(stand.postgres.sockets.stat().st_mode) == 0o700


def test_commands_share_the_services_and_the_last_one_out_stops_them(home: Path) -> None:
    first = User()
    run(first.database_url, "CREATE TABLE kept AS SELECT 7 AS number")
    assert value(first.database_url, "SHOW fsync") == "on"
    second = User()
    assert (second.database_url, second.redis_url) == (first.database_url, first.redis_url)
    first.leave()
    assert value(second.database_url, "SELECT number FROM kept") == 7
    assert redis.from_url(second.redis_url).ping()
    second.leave()
    assert not is_up(open_stand(home / "dev"))


def test_commands_that_start_at_the_same_moment_share_the_services(home: Path) -> None:
    started = [
        subprocess.Popen(
            [sys.executable, "-c", USE, "dev"],
            cwd=places.CHECKOUT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(3)
    ]
    lines = {user.stdout.readline() for user in started if user.stdout}
    assert len(lines) == 1
    for user in started:
        user.communicate("\n", timeout=SETTLED)
    assert [user.returncode for user in started] == [0, 0, 0]
    assert not is_up(open_stand(home / "dev"))


def test_a_killed_command_does_not_keep_the_services_alive(home: Path) -> None:
    User().kill()
    wait_until_down(open_stand(home / "dev"))


def test_a_killed_command_does_not_stop_the_services_of_others(home: Path) -> None:
    other = User()
    User().kill()
    assert value(other.database_url, "SELECT 1") == 1
    other.leave()
    assert not is_up(open_stand(home / "dev"))


def test_what_was_committed_survives_a_kill_of_both_services(lasting: Stand) -> None:
    lasting.start(postgres=True, valkey=True)
    run(lasting.postgres.url(), "CREATE TABLE kept AS SELECT 7 AS number")
    lasting.postgres.kill()
    lasting.valkey.kill()
    assert not is_up(lasting)
    lasting.start(postgres=True, valkey=True)
    assert value(lasting.postgres.url(), "SELECT number FROM kept") == 7
    assert redis.from_url(lasting.valkey.url).ping()


def test_a_process_file_that_names_somebody_elses_process_is_stale(stand: Stand) -> None:
    stand.start(postgres=True, valkey=True)
    stand.postgres.kill()
    stand.valkey.kill()
    for pid_file in (stand.postgres.data / "postmaster.pid", stand.valkey.data / "valkey.pid"):
        pid_file.write_text(f"{os.getpid()}\n")
    assert not is_up(stand)
    stand.start(postgres=True, valkey=True)
    assert is_up(stand)


def test_backends_that_outlived_their_postmaster_do_not_block_the_next_start(stand: Stand) -> None:
    stand.postgres.start()
    sleeper = psycopg.connect(stand.postgres.url())
    sleeper.execute("SELECT 1")
    postmaster = processes.find(
        stand.postgres.data / "postmaster.pid", "postgres", stand.postgres.data
    )
    assert postmaster is not None
    postmaster.kill()
    stand.postgres.start()
    assert value(stand.postgres.url(), "SELECT 1") == 1
    sleeper.close()


def test_an_initialisation_that_was_killed_is_begun_anew(stand: Stand) -> None:
    draft = stand.postgres.data.with_name("postgres.draft")
    (draft / "base").mkdir(parents=True)
    stand.postgres.data.mkdir()
    stand.postgres.start()
    assert value(stand.postgres.url(), "SELECT 1") == 1
    assert not draft.exists()


def test_a_cluster_of_another_version_is_refused_and_left_alone(lasting: Stand) -> None:
    lasting.postgres.data.mkdir()
    (lasting.postgres.data / "PG_VERSION").write_text("17\n")
    with pytest.raises(embedded.EmbeddedUnavailable, match="PostgreSQL 17"):
        lasting.postgres.start()
    assert (lasting.postgres.data / "PG_VERSION").exists()


def test_a_start_that_fails_says_what_the_server_said(lasting: Stand) -> None:
    lasting.postgres.start()
    lasting.postgres.stop()
    (lasting.postgres.data / "pg_hba.conf").write_text("nonsense\n")
    with pytest.raises(embedded.EmbeddedUnavailable, match=r"pg_hba\.conf"):
        lasting.postgres.start()


def test_a_broken_test_cluster_is_made_anew(home: Path) -> None:
    stand = open_stand(places.state_folder("test"))
    stand.postgres.start()
    stand.postgres.kill()
    (stand.postgres.data / "global" / "pg_control").write_bytes(b"torn")
    try:
        stand.postgres.start()
        assert value(stand.postgres.url(), "SHOW fsync") == "off"
    finally:
        stand.stop()


def test_two_test_sessions_at_once_get_services_of_their_own(home: Path) -> None:
    first, second = User("test"), User("test")
    assert first.database_url != second.database_url
    assert first.redis_url != second.redis_url
    first.leave()
    assert value(second.database_url, "SELECT 1") == 1
    second.leave()


def test_a_folder_removed_under_running_services_does_not_leave_them_behind(home: Path) -> None:
    user = User()
    stand = open_stand(home / "dev")
    shutil.rmtree(home / "dev")
    user.process.communicate("\n", timeout=SETTLED)
    deadline = time.monotonic() + SETTLED
    while time.monotonic() < deadline and (
        processes.find_all("postgres", stand.postgres.data)
        or processes.find_all("valkey-server", stand.valkey.data)
    ):
        time.sleep(0.05)
    assert not processes.find_all("postgres", stand.postgres.data)
    assert not processes.find_all("valkey-server", stand.valkey.data)


def test_services_named_by_the_environment_are_used_and_nothing_is_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/dolphy")
    monkeypatch.setenv("REDIS_URL", "redis://cache.example")
    services = embedded.ensure()
    assert services.database_url == "postgresql://db.example/dolphy"
    assert services.redis_url == "redis://cache.example"
    with embedded.running("dev") as same:
        assert same == services
    assert list(home.iterdir()) == []


def test_only_what_the_environment_does_not_name_is_started(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", "postgresql://db.example/dolphy")
    with embedded.running("dev") as services:
        assert services.database_url == "postgresql://db.example/dolphy"
        assert redis.from_url(services.redis_url).ping()
        assert not open_stand(home / "dev").postgres.is_running()
    assert os.environ["DATABASE_URL"] == "postgresql://db.example/dolphy"
    assert "REDIS_URL" not in os.environ


def test_the_callers_own_postgresql_variables_change_nothing(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PGHOST", "PGDATA", "PGUSER", "PGDATABASE"):
        monkeypatch.setenv(name, "elsewhere")
    monkeypatch.setenv("PGPORT", "6000")
    stand.postgres.start()
    assert value(stand.postgres.url(), "SELECT current_user || current_database()") == (
        "postgresdolphy"
    )


def test_a_long_path_with_spaces_and_quotes_works(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deep = home / 'a folder, it\'s "named" by a person' / ("x" * 90)
    deep.mkdir(parents=True)
    monkeypatch.setenv("DOLPHY_HOME", str(deep))
    for folder in (deep, deep.parent):
        folder.chmod(0o711)
    with embedded.running("dev") as services:
        assert value(services.database_url, "SELECT 1") == 1
        assert redis.from_url(services.redis_url).ping()
        sockets = embedded.current_stand().postgres.sockets
    assert len(str(sockets)) <= places.LONGEST_SOCKET_FOLDER
    shutil.rmtree(sockets)


def test_services_can_be_restarted_and_killed_for_fault_tests(home: Path) -> None:
    with embedded.running("dev") as services:
        embedded.restart_postgres(killed=True)
        embedded.restart_valkey(killed=True)
        assert value(services.database_url, "SELECT 1") == 1
        assert redis.from_url(services.redis_url).ping()
    with pytest.raises(embedded.EmbeddedUnavailable):
        embedded.restart_postgres()


def test_the_secret_key_is_made_once_and_readable_by_its_owner_only(home: Path) -> None:
    key = embedded.secret(home / "dev")
    assert len(key) >= 32
    assert embedded.secret(home / "dev") == key
    assert stat.S_IMODE((home / "dev" / "secret-key").stat().st_mode) == 0o600
    assert [entry.name for entry in (home / "dev").iterdir()] == ["secret-key"]


def test_a_link_in_place_of_a_folder_is_refused(home: Path) -> None:
    (home / "dev").symlink_to("/tmp")
    with pytest.raises(embedded.EmbeddedUnavailable, match="must be a folder"):
        places.state_folder("dev")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(home: Path) -> None:
    (home / "dev").mkdir()
    os.chown(home / "dev", 12345, 12345)
    with pytest.raises(embedded.EmbeddedUnavailable, match="must be a folder of user 0"):
        places.state_folder("dev")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's PostgreSQL runs as somebody else")
def test_root_keeps_the_database_elsewhere_when_its_account_cannot_reach_the_checkout(
    home: Path,
) -> None:
    home.chmod(0o700)
    with embedded.running("dev") as services:
        assert value(services.database_url, "SELECT 1") == 1
        outside = embedded.current_stand().postgres.data
    assert places.ROOT_STATE in outside.parents
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    shutil.rmtree(outside.parents[1])


@pytest.mark.skipif(os.geteuid() == 0, reason="root can write everywhere")
def test_an_ordinary_user_without_a_writable_checkout_gets_a_folder_of_its_own(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DOLPHY_HOME")
    monkeypatch.setattr(places, "CHECKOUT", Path("/usr"))
    assert places.home().parent == Path("/var/tmp")
    assert str(os.geteuid()) in places.home().name
