"""The embedded PostgreSQL: initialise, start, stop, and recover from whatever a kill left behind.

The programs come from the wheel; its own Python layer is not used (one lock file for all users of
the machine, permissions loosened up to `/`, a start that gives up after ten seconds). It listens
on a Unix socket in a folder that only its account can enter, on no port.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psutil

from dolphy.embedded import processes
from dolphy.embedded.places import Account, EmbeddedUnavailable, own_folder

DATABASE = "dolphy"
PATIENCE = 180  # seconds: a slow disk, or recovery after a kill
MAJOR = "18"
# Parallel index builds share memory through /dev/shm, which containers often limit to 64 MB.
ROOMY_SHARED_MEMORY = 1 << 30
# glibc hands the top of a process's memory back after each statement, and takes it again a page
# fault at a time: up to a quarter of a search. So much of it stays.
KEPT_MEMORY = dict.fromkeys(("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_"), str(8 << 20))

CONFIGURATION = """\
# Written at every start.
listen_addresses = ''
unix_socket_directories = '{sockets}'
unix_socket_permissions = 0700
max_connections = 100
shared_buffers = {buffers}
maintenance_work_mem = 256MB
dynamic_shared_memory_type = {shared_memory}
jit = off
timezone = 'UTC'
log_timezone = 'UTC'
fsync = {durable}
synchronous_commit = {durable}
full_page_writes = {durable}
"""


@dataclass(frozen=True)
class Postgres:
    """One cluster: its data folder, socket folder, programs, account, and whether it must last."""

    data: Path
    sockets: Path
    programs: Path
    account: Account
    durable: bool

    def url(self, database: str = DATABASE) -> str:
        """Everything is named, so that no PGHOST or PGPORT of the caller's changes it."""
        return f"postgresql:///{database}?host={quote(str(self.sockets))}&port=5432&user=postgres"

    def is_running(self) -> bool:
        return self._postmaster() is not None

    def start(self) -> None:
        """Return when it answers and the database exists; start or initialise it as needed."""
        running = self._postmaster()
        if running is None or not self._answers(running):
            self._clear_leftovers()
            self._launch_or_begin_anew()
        self._create_database()

    def stop(self) -> None:
        process = self._postmaster()
        if process is not None:
            processes.end(process, signal.SIGINT, PATIENCE)  # SIGINT: its "fast" shutdown
        processes.kill(processes.find_all("postgres", self.data))

    def kill(self) -> None:
        """End it as a power cut would."""
        processes.kill(processes.find_all("postgres", self.data))

    def _postmaster(self) -> psutil.Process | None:
        return processes.find(self.data / "postmaster.pid", "postgres", self.data)

    def _clear_leftovers(self) -> None:
        """After a kill: backends without a postmaster, and files that name a dead process."""
        if self.data.exists():
            processes.kill(processes.find_all("postgres", self.data))
        (self.data / "postmaster.pid").unlink(missing_ok=True)
        for stale in self.sockets.glob(".s.PGSQL.*"):
            stale.unlink()

    def _launch_or_begin_anew(self) -> None:
        self._initialise_if_missing()
        try:
            self._launch()
        except EmbeddedUnavailable:
            if self.durable:
                raise
            shutil.rmtree(self.data)  # nothing in it is meant to last, and fsync was off
            self._initialise_if_missing()
            self._launch()

    def _initialise_if_missing(self) -> None:
        """Make the cluster beside its place, then rename it: a killed run leaves only a draft."""
        if self._is_complete():
            return
        draft = self.data.with_name("postgres.draft")
        for leftover in (draft, self.data):
            if leftover.exists():
                shutil.rmtree(leftover)
        own_folder(draft, self.account)
        self._run(
            "initdb",
            *("--pgdata", str(draft), "--username", "postgres", "--auth", "trust"),
            *("--encoding", "UTF8", "--locale", "C"),
            *("--locale-provider", "builtin", "--builtin-locale", "C.UTF-8"),
            "--no-sync",  # the kernel writes it within the minute; a sync here takes seconds
        )
        draft.rename(self.data)

    def _is_complete(self) -> bool:
        """Raises EmbeddedUnavailable for a cluster that is not ours to remove nor to run."""
        try:
            major = (self.data / "PG_VERSION").read_text().strip()
            owner = self.data.stat().st_uid
        except FileNotFoundError:
            return False
        if major == MAJOR and owner == self.account.uid:
            return (self.data / "global" / "pg_control").exists()
        if not self.durable:
            return False
        raise EmbeddedUnavailable(
            f"{self.data} holds a PostgreSQL {major} cluster of user {owner}; this is PostgreSQL "
            f"{MAJOR} run by user {self.account.uid}. Move it away, or set DOLPHY_HOME."
        )

    def _launch(self) -> None:
        log = self.data / "server.log"
        if log.exists() and log.stat().st_size > 10_000_000:
            log.unlink()
        (self.data / "postgresql.conf").write_text(
            CONFIGURATION.format(
                sockets=self.sockets,
                buffers="256MB" if self.durable else "128MB",
                durable="on" if self.durable else "off",
                shared_memory=_shared_memory(),
            )
        )
        offset = log.stat().st_size if log.exists() else 0
        try:
            server = processes.launch(
                [self.programs / "postgres", "-D", self.data],
                log,
                _environment(),
                **self._identity(),
            )
            answers = self._answers(server)
        except psutil.NoSuchProcess:
            answers = False
        if not answers:
            said = log.read_bytes()[offset:].decode(errors="replace") if log.exists() else ""
            raise EmbeddedUnavailable(f"PostgreSQL: {said[-2000:].strip()} ({log})")

    def _answers(self, server: psutil.Process) -> bool:
        """Wait until it does, or has died. Raises EmbeddedUnavailable when it does neither."""
        import psycopg  # here, because the keeper stops services and never connects

        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=10).close()
                return True
            except psycopg.OperationalError as error:
                if not processes.is_alive(server):
                    return False
                if time.monotonic() > deadline:
                    raise EmbeddedUnavailable(str(error)) from None
                time.sleep(0.05)

    def _create_database(self) -> None:
        import psycopg

        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            query = "SELECT 1 FROM pg_database WHERE datname = %s"
            if connection.execute(query, [DATABASE]).fetchone() is None:
                connection.execute(f"CREATE DATABASE {DATABASE}")

    def _run(self, program: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as its account, deaf to the caller's environment."""
        try:
            done = subprocess.run(  # noqa: S603
                [str(self.programs / program), *arguments],
                capture_output=True,
                text=True,
                errors="replace",
                env=_environment(),
                cwd="/",
                umask=0o077,
                start_new_session=True,  # Ctrl-C does not leave half a draft
                **self._identity(),
            )
        except OSError as error:
            raise EmbeddedUnavailable(f"{self.programs / program}: {error.strerror}") from None
        if done.returncode:
            raise EmbeddedUnavailable(f"{program}: {done.stderr.strip()}")

    def _identity(self) -> dict[str, Any]:
        if os.geteuid() == self.account.uid:
            return {}
        return {"user": self.account.uid, "group": self.account.gid, "extra_groups": []}


def _environment() -> dict[str, str]:
    """The caller's, without what it says of PostgreSQL and languages; memory is kept."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_"))}
    return {**KEPT_MEMORY, **kept, "LC_ALL": "C"}


def _shared_memory() -> str:
    """`posix` where /dev/shm is roomy or absent, `sysv` where it is too small for index builds."""
    try:
        room = shutil.disk_usage("/dev/shm").total  # noqa: S108  (asked for its size only)
    except OSError:
        return "posix"
    return "posix" if room >= ROOMY_SHARED_MEMORY else "sysv"
