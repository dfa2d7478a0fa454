"""Files are read in a process of their own, which may hang, burst or die."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from dolphy.errors import DolphyError
from ingestion.parsing import Limits, ParsingError, TooComplex, apart, parse, wire
from ingestion.parsing.errors import ParserDied, ParseTimeout
from ingestion.parsing.limits import MEGABYTE

from .golden import DOCUMENTS

SOON = Limits(killed_after=2.0)
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the kernel is not Linux")


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The process whose reader of text does what the text says, started and warm."""
    apart.stop()
    monkeypatch.setattr(apart, "MODULE", "tests.ingestion.parsing.hostile")
    apart.parse(b"good morning", "a.txt")
    yield
    apart.stop()


def process_id() -> int:
    assert apart._process is not None
    return apart._process._child.pid


def is_alive(pid: int) -> bool:
    with suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False


def outcome(read: Any, path: Path) -> Any:
    try:
        return read(path.read_bytes(), path.name)
    except ParsingError as error:
        return type(error), error.message, error.context


def kinds_of_files() -> list[Path]:
    found = [path for path in DOCUMENTS.rglob("*") if path.is_file() and path.suffix != ".json"]
    return sorted(path for path in found if "taranmis" not in path.name)


@pytest.mark.parametrize("path", kinds_of_files(), ids=lambda path: path.name)
def test_a_file_is_read_apart_as_it_is_here(path: Path) -> None:
    assert outcome(apart.parse, path) == outcome(parse, path)


def test_one_process_reads_many_files(hostile: None) -> None:
    first = process_id()
    for number in range(3):
        document = apart.parse(f"merhaba {number}".encode(), "a.txt")
        assert document.blocks[0].text == f"Text. merhaba {number}"
    assert process_id() == first


@on_linux
def test_a_large_worker_does_not_make_its_process_look_large() -> None:
    apart.stop()
    large = b"x" * (apart.GROWN + 100 * MEGABYTE)
    assert apart.parse(b"good morning", "a.txt").blocks and large
    assert apart._process is not None


@pytest.mark.parametrize("how", ["hang", "backtrack"])
def test_a_reader_that_hangs_is_killed(hostile: None, how: str, tmp_path: Path) -> None:
    pid = process_id()
    with pytest.raises(ParseTimeout) as caught:
        text = f"hang {tmp_path / 'pid'}" if how == "hang" else how
        apart.parse(text.encode(), "a.txt", limits=SOON)
    assert caught.value.code == "parse_timeout"
    assert not is_alive(pid)
    assert apart.parse(b"good morning", "a.txt").blocks


def test_what_a_reader_started_is_killed_with_it(hostile: None, tmp_path: Path) -> None:
    started = tmp_path / "pid"
    with pytest.raises(ParseTimeout):
        apart.parse(f"start {started}".encode(), "a.txt", limits=SOON)
    wait_until_gone(int(started.read_text()))


def wait_until_gone(pid: int) -> None:
    for _ in range(600):
        if not is_alive(pid):
            return
        time.sleep(0.05)
    pytest.fail(f"{pid} goes on")


def test_other_threads_run_while_a_reader_keeps_its_process(hostile: None) -> None:
    beats: list[int] = []
    stopped = threading.Event()

    def beat() -> None:
        while not stopped.wait(0.02):
            beats.append(1)

    thread = threading.Thread(target=beat)
    thread.start()
    with pytest.raises(ParseTimeout):
        apart.parse(b"backtrack", "a.txt", limits=SOON)
    stopped.set()
    thread.join()
    assert len(beats) > 10


@on_linux
def test_a_file_that_takes_too_much_memory_is_refused(hostile: None) -> None:
    with pytest.raises(TooComplex, match="400 MB of memory"):
        apart.parse(b"burst", "a.txt", limits=Limits(max_memory=400 * MEGABYTE))
    assert apart.parse(b"good morning", "a.txt").blocks


def test_a_process_that_has_grown_is_replaced(
    hostile: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "GROWN", 1)
    pid = process_id()
    assert apart.parse(b"good morning", "a.txt").blocks
    assert apart._process is None and not is_alive(pid)


def test_a_file_that_ends_the_process_each_time_is_refused(hostile: None) -> None:
    with pytest.raises(ParserDied, match="SIGABRT"):
        apart.parse(b"die", "a.txt")
    assert apart.parse(b"good morning", "a.txt").blocks


def test_a_process_that_dies_once_is_no_fault_of_the_file(hostile: None, tmp_path: Path) -> None:
    assert apart.parse(f"die once {tmp_path / 'died'}".encode(), "a.txt").blocks


def test_a_fault_of_the_program_says_its_name_and_is_no_verdict(hostile: None) -> None:
    with pytest.raises(DolphyError, match="ZeroDivisionError") as caught:
        apart.parse(b"fail", "a.txt")
    assert not isinstance(caught.value, ParsingError)


def test_pages_are_told_here(hostile: None) -> None:
    told: list[tuple[int, int]] = []
    apart.parse(b"pages", "a.txt", progress=lambda done, total: told.append((done, total)))
    assert told[-4:] == [(0, 3), (1, 3), (2, 3), (3, 3)]


def test_who_stops_listening_ends_the_reading(hostile: None, tmp_path: Path) -> None:
    def cancelled(done: int, total: int) -> None:
        raise InterruptedError

    pid = process_id()
    with pytest.raises(InterruptedError):  # at the next tick, though no page is told of
        apart.parse(f"hang {tmp_path / 'pid'}".encode(), "a.txt", progress=cancelled)
    assert not is_alive(pid)


def test_what_a_library_prints_is_no_answer(hostile: None) -> None:
    assert apart.parse(b"print", "a.txt").blocks


def test_a_file_larger_than_a_pipe_goes_through(hostile: None) -> None:
    text = "Merhaba dünya. " * 200_000
    document = apart.parse(text.encode(), "a.txt")
    assert sum(len(block.text) for block in document.blocks) > 2_900_000


@on_linux
def test_the_process_knows_no_passwords(hostile: None) -> None:
    environment = Path(f"/proc/{process_id()}/environ").read_bytes()
    assert b"DATABASE_URL" not in environment and b"DJANGO" not in environment


def test_a_forked_process_starts_one_of_its_own(hostile: None) -> None:
    pid = process_id()
    if os.fork() == 0:
        try:
            apart.parse(b"good morning", "a.txt")
            os._exit(0 if process_id() != pid else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 0
    assert apart.parse(b"good morning", "a.txt").blocks and process_id() == pid


def test_every_character_goes_through() -> None:
    message = {"title": "Ödeme \x00 \ud800 \U0001f600 \u2028", "blocks": []}
    assert wire.unframed(bytearray(wire.framed(message))) == [message]


def test_frames_that_arrive_in_parts_are_put_together() -> None:
    sent = wire.framed(wire.pages(1, 3)) + wire.framed(wire.pages(2, 3))
    received, found = bytearray(), []
    for byte in sent:
        received.append(byte)
        found += wire.unframed(received)
    assert found == [json.loads('{"pages": [1, 3]}'), {"pages": [2, 3]}]
    assert received == b""
