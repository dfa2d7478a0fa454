"""The command line's manners: what keeps every command from starting is told in one line.

A database that is away, empty or misnamed is no fault of the program's, and a traceback would hide
what to do about it. `--traceback` shows it all the same.
"""

from __future__ import annotations

import os
import sys

import psycopg
from django.core.exceptions import ImproperlyConfigured
from django.core.management import execute_from_command_line
from django.db import InterfaceError, OperationalError, ProgrammingError

from dolphy.errors import DolphyError

UNMIGRATED = (psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn)


def main(arguments: list[str]) -> None:
    """Run a command as Django does; exit code 1 and a line when it cannot do its work."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dolphy.settings")
    try:
        execute_from_command_line(arguments)
    except Exception as error:
        said = reason(error)
        if said is None or "--traceback" in arguments:
            raise
        sys.stderr.write(said + "\n")
        raise SystemExit(1) from None


def reason(error: Exception) -> str | None:
    """What an operator can put right, in one line; None for everything else."""
    if isinstance(error, ProgrammingError) and isinstance(error.__cause__, UNMIGRATED):
        return "The database is not migrated: run `manage.py migrate`."
    if isinstance(error, OperationalError | InterfaceError):
        return _line(f"The database does not answer: {error}")
    if isinstance(error, DolphyError):
        return _line(f"{error.code}: {error.message}")
    return _line(str(error)) if isinstance(error, ImproperlyConfigured) else None


def _line(text: str) -> str:
    return " ".join(text.split())
