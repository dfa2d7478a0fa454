"""The watch beside `up`: an embedded service that died is started again.

    python -m dolphy.embedded.watch FOLDER postgres valkey

Where servers are named by the environment somebody else looks after them. A service that keeps
dying is started less and less often and then given up, which ends `up` with the reason; one that
ran for a while starts with a clean record. Nothing is started that nobody uses: then the keeper, or
the last user, has stopped it on purpose.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from dolphy.embedded.places import EmbeddedUnavailable
from dolphy.embedded.sharing import Lock, turn
from dolphy.embedded.stand import open_stand
from dolphy.errors import DolphyError

LOOK_EVERY = 0.5  # seconds
MOST_STARTS = 6  # in a row: five pauses, of 1, 2, 4, 8 and 16 seconds
SETTLED = 60.0  # seconds that a service must have run for its next death to be the first again

NAMES = {"postgres": "PostgreSQL", "valkey": "Valkey"}


class Service(Protocol):
    def is_running(self) -> bool: ...
    def start(self) -> None: ...


class GivenUp(EmbeddedUnavailable):
    """An embedded service does not stay up."""


class Unused(Exception):
    """Nobody uses the services any more, so nobody wants them started."""


@dataclass
class Watched:
    """One service, and how often it was started lately. `say` is told each line for people."""

    name: str
    service: Service
    folder: Path
    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    starts: int = 0
    not_before: float = 0.0
    reason: str = field(default="", repr=False)

    def look(self) -> None:
        """Start it again if it died and its pause is over. Raises `GivenUp`, `Unused`."""
        if self.service.is_running():
            if self.starts and self.clock() > self.not_before + SETTLED:
                self.starts = 0
        elif self.clock() >= self.not_before:
            self._start()

    def _start(self) -> None:
        with turn(self.folder):
            if _is_unused(self.folder):
                raise Unused
            if self.service.is_running():  # another command was faster
                return
            if self.starts == MOST_STARTS:
                raise GivenUp(f"{self.name} was started {MOST_STARTS} times. {self.reason}".strip())
            self.starts += 1
            self.say(f"{self.name} is gone; starting it again ({self.starts} of {MOST_STARTS}).")
            self._try()
            self.not_before = self.clock() + 2.0 ** (self.starts - 1)

    def _try(self) -> None:
        try:
            self.service.start()
        except Exception as error:  # whatever it is, it is tried again, and said at the end
            self.reason = error.message if isinstance(error, DolphyError) else repr(error)
            self.say(f"{self.name} could not be started. {self.reason}")
        else:
            self.reason = ""
            self.say(f"{self.name} answers again.")


def watch(folder: Path, names: Sequence[str], say: Callable[[str], None]) -> None:
    """Look after these services of a state folder until nobody uses them. Raises `GivenUp`."""
    stand = open_stand(folder)
    watched = [Watched(NAMES[name], getattr(stand, name), folder, say) for name in names]
    while True:
        try:
            for one in watched:
                one.look()
        except (Unused, FileNotFoundError):  # or the folder was removed while they ran
            return
        time.sleep(LOOK_EVERY)


def _is_unused(folder: Path) -> bool:
    users = Lock(folder / "users")
    try:
        return users.try_take()
    finally:
        users.close()


def _main(folder: str, *names: str) -> None:
    def say(line: str) -> None:
        print(line, flush=True)  # noqa: T201

    try:
        watch(Path(folder), names, say)
    except GivenUp as error:
        say(error.message)
        sys.exit(1)


if __name__ == "__main__":
    _main(*sys.argv[1:])
