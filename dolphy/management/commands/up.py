"""`manage.py up`: web, worker and beat in the foreground, beside the services they need.

The settings have joined or started PostgreSQL and Valkey by the time a command runs, and leave
them when it ends; honcho runs the rest and prefixes its output. On Linux every process is told by
the kernel when its parent dies, so that even `kill -9` leaves nothing on the port. A watch beside
them starts a service again that died; when it gives up, as when any of the others ends, all end.
"""

from __future__ import annotations

import ctypes
import os
import shlex
import signal
import socket
import sys
from argparse import ArgumentParser
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import honcho.manager
import honcho.process
from django.core.management import BaseCommand, CommandError, call_command
from django.db import connections

from dolphy import embedded
from dolphy.embedded.sharing import Lock

HOST = "127.0.0.1"
SECONDS_TO_STOP = 20  # a worker may finish what it is doing; then it is killed
STOPPED_BY_US = {130, 143}  # honcho's codes for SIGINT and SIGTERM
WEB = ("dolphy.asgi:application", "--lifespan", "off")
ALONE = ("--without-mingle", "--without-gossip")  # there is no other worker to ask at the start
PR_SET_PDEATHSIG = 1


class Command(BaseCommand):
    help = "Run web, worker and beat, with the services they need, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, default=8000, help="where the web listens")

    def handle(self, *args: Any, port: int, **options: Any) -> None:
        if not 0 < port < 65536:
            raise CommandError(f"There is no port {port}: say one from 1 to 65535.")
        signal.signal(signal.SIGTERM, _exit)  # until honcho takes over
        if "MAKELEVEL" in os.environ:  # `make up`: its end is ours, even when it is killed
            _end_with_parent()
        home = embedded.given().home
        only_one = _claim(home)
        _refuse_taken(port)
        try:
            call_command("migrate", verbosity=0, interactive=False)
            self.stdout.write(f"Dolphy is at http://{HOST}:{port}/  (data in {home})\n")
            call_command("ensure_demo_login", stdout=self.stdout)
            connections.close_all()  # before honcho forks
            self.stdout.write("Ctrl-C stops everything.\n\n")
            self.stdout.flush()
            code = _run(port, home)
        except KeyboardInterrupt:
            return
        finally:
            only_one.close()
        if code not in STOPPED_BY_US:
            raise CommandError("A process ended by itself; its last lines are above.")


class Process(honcho.process.Process):
    """A process that ends when this command does, even when this command is killed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._child_ctor: Any = partial(honcho.process.Popen, preexec_fn=_end_with_parent)

    def run(self, events: Any = None, ignore_signals: bool = False) -> None:
        _end_with_parent(signal.SIGKILL)
        super().run(events, ignore_signals)


def commands(port: int, home: Path) -> dict[str, list[str]]:
    """What runs, by the name its output is prefixed with."""
    python = [sys.executable, "-m"]
    celery = [*python, "celery", "-A", "dolphy"]
    return {
        "web": [*python, "uvicorn", *WEB, "--host", HOST, "--port", str(port)],
        "worker": [*celery, "worker", "--loglevel", "INFO", *ALONE],
        "beat": [*celery, "beat", "--schedule", str(home / "beat-schedule"), "--pidfile="],
        **_watch(python),
    }


def _watch(python: list[str]) -> dict[str, list[str]]:
    """What starts embedded services again; servers that the environment names are not ours."""
    ours = embedded.joined()
    if not ours:
        return {}
    folder = str(embedded.current_stand().folder)
    return {"services": [*python, "dolphy.embedded.watch", folder, *ours]}


def _run(port: int, home: Path) -> int | None:
    honcho.manager.KILL_WAIT = SECONDS_TO_STOP
    manager = honcho.manager.Manager()
    manager._process_ctor = Process
    for name, command in commands(port, home).items():
        manager.add_process(name, f"exec {shlex.join(command)}")
    manager.loop()
    code: int | None = manager.returncode
    return code


def _claim(home: Path) -> Lock:
    lock = Lock(home / "up")
    if not lock.try_take():
        raise CommandError("`up` is already running in this checkout.")
    return lock


def _refuse_taken(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise CommandError(
                f"Port {port} cannot be used ({error.strerror}). "
                f'Choose another: make up ARGS="--port {port + 1}"'
            ) from None


def _end_with_parent(number: int = signal.SIGTERM) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, number)


def _exit(number: int, frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)
