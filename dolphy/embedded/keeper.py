"""The keeper: stops the services when their last user is gone, killed ones included.

Users stop the services themselves when they leave in order; this is for those that cannot.
"""

from __future__ import annotations

from pathlib import Path

from dolphy.embedded.sharing import Lock, turn
from dolphy.embedded.stand import open_stand


def keep(folder: str) -> None:
    """Wait for the end of the last user of `folder`, stop its services, and return."""
    stand = open_stand(Path(folder))
    keeper = Lock(Path(folder) / "keeper")
    if not keeper.try_take():
        return
    users = Lock(Path(folder) / "users")
    while True:
        users.take()
        users.release()
        try:
            with turn(Path(folder)):
                if users.try_take():  # nobody came between the two lines above
                    stand.stop()
                    keeper.close()  # within the turn: the next user must see that nobody keeps
                    return
        except FileNotFoundError:  # the folder was removed while its services ran
            stand.stop()
            return
