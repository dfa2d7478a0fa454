"""The embedded PostgreSQL and Valkey: what runs when no DATABASE_URL or REDIS_URL is given.

    services = ensure()             # settings: join or start them for the life of this process
    with running("test") as ...:    # the same, for the length of a block

Commands of one checkout share one pair of servers; the first starts them, the last one out stops
them, and a keeper process does so when the last one was killed. A server that the environment
names is used and never touched. State lives in `<home>/<flavour>/` (see `places`).
"""

from __future__ import annotations

import atexit
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dolphy.embedded import places
from dolphy.embedded.sharing import Lock
from dolphy.embedded.stand import Stand, open_stand

__all__ = [
    "EmbeddedUnavailable",
    "Services",
    "current_stand",
    "ensure",
    "given",
    "joined",
    "restart_postgres",
    "restart_valkey",
    "running",
    "secret",
]

EmbeddedUnavailable = places.EmbeddedUnavailable
Flavour = Literal["dev", "test"]


@dataclass(frozen=True)
class Services:
    """Where PostgreSQL and Valkey answer, and the folder for what else lives beside them.

    `redis_url` is `unix:///…` for the embedded Valkey; Celery says `redis+socket:///…` for it.
    """

    database_url: str
    redis_url: str
    home: Path


_stand: Stand | None = None


def given(flavour: Flavour = "dev") -> Services:
    """The services the environment names; empty URLs for those it does not. Starts nothing."""
    state = os.environ.get("DOLPHY_STATE")  # set by `_enter` for child processes
    return Services(
        database_url=os.environ.get("DATABASE_URL", "").strip(),
        redis_url=os.environ.get("REDIS_URL", "").strip(),
        home=Path(state) if state else places.home() / flavour,
    )


def ensure() -> Services:
    """Join or start what the environment does not name, until this process ends.

    Child processes find the same services in their environment. A test session gets flavour
    "test", so that no test ever meets the data people work with. Raises EmbeddedUnavailable.
    """
    flavour: Flavour = "test" if "PYTEST_VERSION" in os.environ else "dev"  # pytest sets it
    named = given(flavour)
    if named.database_url and named.redis_url:
        return named
    stand, users, _ = _enter(flavour, named)
    atexit.register(_leave_in, os.getpid(), stand, users)
    return given()


@contextmanager
def running(flavour: Flavour = "dev") -> Iterator[Services]:
    """Services for the length of the block, named in the environment for child processes.

    Two blocks of flavour "test" at the same time get separate servers; "dev" is shared.
    Raises EmbeddedUnavailable.
    """
    named = given(flavour)
    if named.database_url and named.redis_url:
        yield named
        return
    before = dict(os.environ)
    stand, users, slot = _enter(flavour, named)
    try:
        yield given()
    finally:
        _leave(stand, users)
        slot.close()
        for name in ("DATABASE_URL", "REDIS_URL", "DOLPHY_STATE"):
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]


def secret(home: Path) -> str:
    """A secret key of this state folder's own, made once."""
    path = places.own_folders(home, 0o711 if os.geteuid() == 0 else 0o700) / "secret-key"
    if not path.exists():
        draft = path.with_name(f"secret-key.{os.getpid()}")
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48))
        try:
            os.link(draft, path)  # the first one wins, and nobody reads half a key
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()


def current_stand() -> Stand:
    """The embedded services that this process joined, for those who break them on purpose."""
    if _stand is None:
        raise EmbeddedUnavailable("This process uses services that it did not start.")
    return _stand


def joined() -> list[str]:
    """Which of "postgres" and "valkey" this process joined or started; the environment names the
    others."""
    if _stand is None:
        return []
    named = given()
    ours = {"postgres": _stand.postgres.url(), "valkey": _stand.valkey.url}
    return [name for name, url in ours.items() if url in (named.database_url, named.redis_url)]


def restart_postgres(*, killed: bool = False) -> None:
    """Stop (or kill) the embedded PostgreSQL and start it again."""
    postgres = current_stand().postgres
    postgres.kill() if killed else postgres.stop()
    postgres.start()


def restart_valkey(*, killed: bool = False) -> None:
    """Stop (or kill) the embedded Valkey and start it again."""
    valkey = current_stand().valkey
    valkey.kill() if killed else valkey.stop()
    valkey.start()


def _enter(flavour: Flavour, named: Services) -> tuple[Stand, Lock, Lock]:
    global _stand
    folder, slot = _folder(flavour)
    stand = open_stand(folder)
    _say_if_elsewhere(stand)
    users = stand.join(postgres=not named.database_url, valkey=not named.redis_url)
    os.environ["DATABASE_URL"] = named.database_url or stand.postgres.url()
    os.environ["REDIS_URL"] = named.redis_url or stand.valkey.url
    os.environ["DOLPHY_STATE"] = str(stand.folder)
    _stand = stand
    return stand, users, slot


def _folder(flavour: Flavour) -> tuple[Path, Lock]:
    """The state folder: one for "dev", the first that nobody holds for "test"."""
    if flavour == "dev":
        folder = places.state_folder("dev")
        return folder, Lock(folder / "slot")
    number = 1
    while True:
        folder = places.state_folder("test" if number == 1 else f"test-{number}")
        slot = Lock(folder / "slot")
        if slot.try_take():
            return folder, slot
        slot.close()
        number += 1


def _leave(stand: Stand, users: Lock) -> None:
    global _stand
    _stand = None
    stand.leave(users)


def _leave_in(pid: int, stand: Stand, users: Lock) -> None:
    if os.getpid() == pid:  # a forked child inherits the exit handlers, not the membership
        _leave(stand, users)


def _say_if_elsewhere(stand: Stand) -> None:
    data = stand.postgres.data
    if places.CHECKOUT not in data.parents and not data.exists():
        print(f"Dolphy keeps its database in {data}.", file=sys.stderr)  # noqa: T201
