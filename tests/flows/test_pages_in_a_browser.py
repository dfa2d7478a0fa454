"""The pages as a browser shows them, scripts run and all."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=8000",
]
needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")


def shown(address: str, profile: Path) -> str:
    """The document that Chromium has made of a page."""
    command = [str(CHROMIUM), *FLAGS, f"--user-data-dir={profile}", "--dump-dom", address]
    if os.geteuid() == 0:
        command.insert(1, "--no-sandbox")
    return subprocess.run(command, capture_output=True, text=True, timeout=90).stdout


@needs_chromium
@pytest.mark.django_db(transaction=True)
def test_the_documentation_lists_the_operations_without_the_internet(
    live_server: Any, tmp_path: Path
) -> None:
    page = shown(f"{live_server.url}/api/docs/", tmp_path)
    assert 'data-path="/api/v1/agents/{agent_id}/search"' in page
    assert "Ask a question" in page


@needs_chromium
@pytest.mark.django_db(transaction=True)
def test_the_admin_asks_for_an_email_address(live_server: Any, tmp_path: Path) -> None:
    page = shown(f"{live_server.url}/admin/", tmp_path)
    assert 'type="email"' in page or 'name="username"' in page
    assert "password" in page
