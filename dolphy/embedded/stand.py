"""One state folder's PostgreSQL and Valkey, put together, and the acts on both.

`dev` is what people work with and lasts; `test` forgets (no fsync, nothing to recover).
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from dolphy.embedded import places
from dolphy.embedded.postgres import Postgres
from dolphy.embedded.sharing import Lock, turn
from dolphy.embedded.valkey import Valkey


@dataclass(frozen=True)
class Stand:
    """The services of the flavour folder `folder`."""

    folder: Path
    postgres: Postgres
    valkey: Valkey

    def start(self, *, postgres: bool, valkey: bool) -> None:
        if postgres:
            self.postgres.start()
        if valkey:
            self.valkey.start()

    def stop(self) -> None:
        self.valkey.stop()
        self.postgres.stop()

    def join(self, *, postgres: bool = True, valkey: bool = True) -> Lock:
        """Become a user: the services run until the returned lock is given to `leave`."""
        users = Lock(self.folder / "users")
        try:
            with turn(self.folder):
                users.share()
                self._ensure_keeper()
                self.start(postgres=postgres, valkey=valkey)
        except BaseException:
            users.close()
            raise
        return users

    def leave(self, users: Lock) -> None:
        """Stop the services unless somebody else still uses them."""
        try:
            with turn(self.folder):
                if users.try_take():
                    self.stop()
                users.close()
        except FileNotFoundError:  # the folder was removed while its services ran
            self.stop()

    def _ensure_keeper(self) -> None:
        """A process that waits for the last user's end, however it ends, and stops the services."""
        keeper = Lock(self.folder / "keeper")
        if keeper.try_take():
            keeper.close()
            subprocess.Popen(  # noqa: S603
                [sys.executable, "-c", KEEPER, str(self.folder)],
                env={**os.environ, "PYTHONPATH": str(places.CHECKOUT)},
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            ).returncode = 0  # nobody waits for it: it outlives this process
        keeper.close()


KEEPER = "import sys; from dolphy.embedded.keeper import keep; keep(sys.argv[1])"


def open_stand(folder: Path) -> Stand:
    """The services of a flavour folder made by `places.state_folder`; nothing is started."""
    durable = not folder.name.startswith("test")
    account = places.postgres_account()
    ground = places.postgres_folder(folder, account)
    sockets = places.socket_folder(ground, account)
    data = places.own_folder(folder / "valkey")
    return Stand(
        folder=folder,
        postgres=Postgres(
            ground / "postgres", sockets, places.engine(account), account, durable=durable
        ),
        valkey=Valkey(data, sockets / "valkey.sock", durable=durable),
    )
