"""Make the virtual environment, complete it, or find that it is as it should be.

Its state is in two files inside it: `.complete` holds what it was made from, `.installing` exists
while pip works, so that an installation that was killed is begun anew. Prints the path.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
REQUIREMENTS = ("requirements.txt", "requirements-dev.txt")


def main() -> int:
    with alone():
        venv = choose()
        if not is_complete(venv) and (reason := make(venv)):
            print(reason, file=sys.stderr)  # noqa: T201
            return 1
    print(venv)  # noqa: T201
    return 0


def choose() -> Path:
    """`.venv`, or one of this user's own where another user's `.venv` cannot be used."""
    shared = CHECKOUT / ".venv"
    if is_complete(shared) or not shared.exists() or is_ours(shared):
        return shared
    return CHECKOUT / f".venv-{os.geteuid()}"


def is_ours(folder: Path) -> bool:
    return folder.stat().st_uid == os.geteuid()


def is_complete(venv: Path) -> bool:
    try:
        return (
            (venv / ".complete").read_text() == fingerprint()
            and not (venv / ".installing").exists()
            and works(venv)
        )
    except OSError:
        return False


def fingerprint() -> str:
    """What an environment is made from: the requirements, and the path its programs name."""
    content = b"".join((CHECKOUT / name).read_bytes() for name in REQUIREMENTS)
    return f"{hashlib.sha256(content).hexdigest()} {CHECKOUT}\n"


def works(venv: Path) -> bool:
    with contextlib.suppress(OSError):
        return not subprocess.run(  # noqa: S603
            [venv / "bin" / "python", "-c", "import pip"], capture_output=True
        ).returncode
    return False


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """One process at a time: the lock is on a file that every user of the checkout can read."""
    with (CHECKOUT / REQUIREMENTS[0]).open() as shared:
        fcntl.flock(shared, fcntl.LOCK_EX)
        yield


def make(venv: Path) -> str:
    """Returns why it failed, or nothing."""
    print(f"Installing into {venv} (minutes the first time) ...", file=sys.stderr)  # noqa: T201
    moved = (venv / ".complete").exists() and str(CHECKOUT) not in (venv / ".complete").read_text()
    if moved or (venv / ".installing").exists() or not works(venv):
        made = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "venv", "--clear", venv], stdout=sys.stderr
        )
        if made.returncode:
            return f"{sys.executable} could not make {venv}: is {CHECKOUT} yours to write in?"
    (venv / ".installing").touch()
    pip = [venv / "bin" / "python", "-m", "pip", "install", "--quiet"]
    done = subprocess.run(  # noqa: S603
        [*pip, "-r", CHECKOUT / REQUIREMENTS[-1]], stdout=sys.stderr, env=without_useless_cache()
    )
    (venv / ".installing").unlink()
    if done.returncode:
        return "The installation failed; pip says why above. Run the same command again."
    (venv / ".complete").write_text(fingerprint())
    return ""


def without_useless_cache() -> dict[str, str]:
    """pip keeps what it downloads below HOME; with none to write in, it need not try."""
    home = os.environ.get("HOME")
    writable = bool(home) and os.access(str(home), os.W_OK)
    return dict(os.environ) if writable else {**os.environ, "PIP_NO_CACHE_DIR": "1"}


if __name__ == "__main__":
    sys.exit(main())
