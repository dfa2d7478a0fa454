"""What `manage.py ingest` says of files that it cannot read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.management.commands import ingest
from ingestion.models import Document
from tests.factories import World

UNREADABLE = Path("/proc/self/mem")  # a file that opens for everybody, and whose reading fails


@pytest.fixture(autouse=True)
def no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "workers_answer", lambda seconds: False)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Apart from where uploaded files are kept."""
    path = tmp_path / "belgeler"
    path.mkdir()
    return path


def run(*paths: Path) -> None:
    call_command("ingest", "acme/help", *map(str, paths))


def link(path: Path, target: Path) -> Path:
    path.symlink_to(target)
    return path


@pytest.mark.parametrize(
    "make, said",
    [
        (lambda folder: folder / "yok.md", "yok.md cannot be read: No such file or directory."),
        (lambda folder: link(folder / "bag.md", folder / "yok"), "No such file or directory."),
        (lambda folder: link(folder / "bag.md", folder / "bag.md"), "symbolic links"),
        (lambda folder: folder / ("a" * 300), "File name too long."),
        (lambda folder: os.mkfifo(folder / "boru") or folder / "boru", "neither a file nor a"),
        (lambda folder: folder, "There are no files in there."),
    ],
)
def test_a_path_that_is_no_file_is_told_in_one_line(
    acme: World, folder: Path, make: Any, said: str
) -> None:
    with pytest.raises(CommandError) as caught:
        run(make(folder))
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_a_file_that_may_not_be_opened_is_told_in_one_line(
    acme: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gizli.md").write_text("Gizli.")

    def forbidden(path: Path, *args: Any) -> Any:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", forbidden)
    with pytest.raises(CommandError, match=r"gizli\.md cannot be read: Permission denied\.$"):
        run(tmp_path / "gizli.md")


@pytest.mark.skipif(not UNREADABLE.exists(), reason="there is no such file here")
def test_a_file_whose_reading_fails_keeps_no_other_out(
    acme: World, tmp_path: Path, capsys: Any
) -> None:
    (tmp_path / "iade.md").write_text("# İade\n\nİade süresi 14 gündür.")
    with pytest.raises(CommandError, match="1 of the files"):
        run(UNREADABLE, tmp_path / "iade.md")
    printed = capsys.readouterr().out
    assert "mem: file_unreadable: The file cannot be read from where it lies." in printed
    assert Document.objects.filter(uri="iade.md", state="ready", agent=acme.agent).exists()


def test_what_cannot_be_read_in_a_folder_is_named_and_the_rest_goes_on(
    acme: World, folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "alt").mkdir()
    (folder / "alt" / "kargo.md").write_text("# Kargo\n\nKargo ücreti 50 liradır.")
    (folder / "kapali").mkdir()
    link(folder / "bag.md", folder / "yok")
    link(folder / "disari", folder.parent)
    real = os.scandir

    def scandir(path: Any) -> Any:
        if str(path).endswith("kapali"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(CommandError, match="3 of the files"):
        run(folder)
    printed = " ".join(capsys.readouterr().out.split())
    assert "kapali: file_unreadable" in printed and "Permission denied." in printed
    assert "bag.md: file_unreadable" in printed and "disari: file_unreadable" in printed
    ingested = Document.objects.filter(agent=acme.agent).exclude(pk=acme.document.pk)
    assert list(ingested.values_list("uri", flat=True)) == ["alt/kargo.md"]


def test_a_file_above_the_limit_is_not_read_to_its_end(
    acme: World, tmp_path: Path, settings: Any, capsys: Any
) -> None:
    settings.MAX_UPLOAD_BYTES = 1_000_000
    with (tmp_path / "dev.txt").open("wb") as file:
        file.truncate(10**12)  # it takes no room
    with pytest.raises(CommandError, match="1 of the files"):
        run(tmp_path / "dev.txt")
    assert "too_large" in capsys.readouterr().out


def test_the_shell_shows_one_line_and_no_traceback(tmp_path: Path) -> None:
    code = (
        "from dolphy.command_line import main; import django; django.setup(); "
        "from ingestion.management.commands import ingest; "
        "ingest.agent_named = lambda name: None; "
        f"main(['manage.py', 'ingest', 'acme/help', {str(tmp_path / 'yok.md')!r}])"
    )
    environment = {
        **os.environ,
        "DJANGO_SETTINGS_MODULE": "dolphy.settings",
        "DATABASE_URL": "postgresql:///none",
        "REDIS_URL": "redis://none",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=90,
        env=environment,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 1
    assert done.stderr.strip().count("\n") == 0 and "cannot be read" in done.stderr
