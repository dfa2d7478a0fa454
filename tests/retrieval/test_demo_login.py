"""The demo's way in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from retrieval import demo
from tenants.authentication import live_key
from tenants.models import ApiKey


@pytest.fixture
def home(settings: Any, tmp_path: Path) -> Path:
    settings.HOME = tmp_path
    return tmp_path


def printed(capsys: Any) -> str:
    call_command("ensure_demo_login")
    return str(capsys.readouterr().out)


def test_the_printed_login_and_key_open_the_door(db: None, home: Path, capsys: Any) -> None:
    words = printed(capsys).split()
    key = next(word for word in words if word.startswith("dlp_"))
    assert live_key(key).tenant.slug == demo.TENANT
    user = demo.login()
    assert user is not None
    assert any(user.check_password(word) for word in words[:4])


def test_the_next_start_prints_the_same(db: None, home: Path, capsys: Any) -> None:
    assert printed(capsys) == printed(capsys)
    assert ApiKey.objects.count() == 1


def test_a_revoked_key_is_replaced(db: None, home: Path, capsys: Any) -> None:
    first = printed(capsys)
    ApiKey.objects.get().revoke()
    assert printed(capsys) != first


def test_others_cannot_read_what_is_kept(db: None, home: Path, capsys: Any) -> None:
    printed(capsys)
    assert (home / "demo-login.json").stat().st_mode & 0o077 == 0


def test_there_is_none_in_production(db: None, home: Path, settings: Any) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match="createsuperuser"):
        call_command("ensure_demo_login")
