"""What keeps a command from its work is told in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError, ProgrammingError, connection
from psycopg.conninfo import make_conninfo

from dolphy.command_line import reason
from dolphy.errors import Unavailable

ROOT = Path(__file__).parents[2]


def manage(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"REDIS_URL": settings.REDIS_URL} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def caused(error: Exception, cause: Exception) -> Exception:
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    "error, said",
    [
        (OperationalError("refused\n\tIs it running?"), "does not answer: refused Is it running?"),
        (caused(ProgrammingError(), psycopg.errors.UndefinedTable()), "manage.py migrate"),
        (ImproperlyConfigured("DEBUG is 'x':\n say true"), "DEBUG is 'x': say true"),
        (Unavailable(), "unavailable: A part"),
    ],
)
def test_what_an_operator_can_put_right_is_one_line(error: Exception, said: str) -> None:
    line = reason(error)
    assert line is not None and said in line and "\n" not in line


@pytest.mark.parametrize(
    "error", [ValueError("x"), caused(ProgrammingError(), psycopg.errors.SyntaxError())]
)
def test_a_fault_of_the_program_keeps_its_traceback(error: Exception) -> None:
    assert reason(error) is None


@pytest.mark.parametrize("arguments", [("search", "acme/help", "iade"), ("doctor",)])
def test_a_database_that_is_away_is_said(arguments: tuple[str, ...]) -> None:
    ended = manage(*arguments, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    assert ended.returncode == 1
    assert ended.stderr.startswith("The database does not answer: ")
    assert ended.stderr.count("\n") == 1


def test_a_database_that_is_not_migrated_is_said(db: None) -> None:
    parts = connection.get_connection_params()
    names = ("user", "password", "host", "port")
    given = {name: parts[name] for name in names if parts.get(name)}
    ended = manage("doctor", DATABASE_URL=make_conninfo(dbname="template1", **given))
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "The database is not migrated: run `manage.py migrate`.\n"


def test_a_setting_that_cannot_be_read_is_said() -> None:
    ended = manage("doctor", DATABASE_URL="postgresql://127.0.0.1:1/none", MAX_UPLOAD_BYTES="-5")
    assert ended.returncode == 1
    assert ended.stderr == "MAX_UPLOAD_BYTES is '-5': say a whole number, 0 or more.\n"
