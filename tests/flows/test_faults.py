"""Faults with real processes: every document ends ready exactly once, nothing doubled or lost.

Real Celery workers take messages from the real Valkey and write to the real PostgreSQL; they are
killed, or their services are restarted under them. What time would do (a lease runs out, a wait is
over, beat calls the sweep) is done by the tests at once.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.utils import timezone

from dolphy import embedded
from dolphy.cache import valkey
from ingestion import graph
from ingestion.cancel import cancel
from ingestion.doctor import examine
from ingestion.embed import KEPT_UNDER
from ingestion.models import Document, IndexedPassage, IngestionJob, Passage
from ingestion.receive import receive
from ingestion.tasks import sweep
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer, Fault, services
from tests.factories import make_agent

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]

CHECKOUT = Path(__file__).parents[2]
PATIENCE = 90.0  # seconds for all documents; some tens of times what it takes
BATCH, PARTS = 2, 6
STAGES = [
    "received",
    "parsing",
    "segmenting",
    "analysing",
    "embedding",
    "indexing",
    "finished",
    "swapping",
]
State = IngestionJob.State


@pytest.fixture
def agent(transactional_db: None, embedding_server: EmbeddingServer) -> Agent:
    clear_broker()
    graph.drop_orphans()
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


def clear_broker() -> None:
    names = ["documents", "upkeep", "ingestion", "unacked", "unacked_index"]
    valkey().delete(*names, *valkey().scan_iter(match=f"{KEPT_UNDER}*"))


class Workers:
    """Worker processes, each with a log of its own."""

    def __init__(self, server: EmbeddingServer, folder: Path) -> None:
        self.folder = folder
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "PYTEST_VERSION"},
            **services(),
            **server.environment(),
            "MEDIA_ROOT": django_settings.MEDIA_ROOT,
            "DJANGO_SETTINGS_MODULE": "dolphy.settings",
            "PYTHONPATH": str(CHECKOUT),
            "BATCH": str(BATCH),
        }
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, *places: str, **environment: str) -> list[Path]:
        """A worker, or one for each place and the files that they write when they stop there."""
        number = len(list(self.folder.glob("*.log")))
        stopped = self.folder / f"stopped-{number}"
        stopped.mkdir()
        with (self.folder / f"{number}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "tests.flows.worker"],
                cwd=CHECKOUT,
                env={
                    **self.environment,
                    "STOP_AT": " ".join(places),
                    "STOPPED": str(stopped),
                    **environment,
                },
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.running.append(process)
        return [stopped / place for place in places]

    def kill(self) -> None:
        for process in self.running:
            with suppress(ProcessLookupError):  # it died before
                os.killpg(process.pid, signal.SIGKILL)
        for process in self.running:
            process.wait()
        self.running = []

    def logs(self) -> str:
        paths = sorted(self.folder.glob("*.log"))
        return "\n".join(f"--- {path.name}\n{path.read_text()[-3000:]}" for path in paths)


@pytest.fixture
def workers(embedding_server: EmbeddingServer, tmp_path: Path) -> Iterator[Workers]:
    folder = tmp_path / "workers"
    folder.mkdir()
    workers = Workers(embedding_server, folder)
    yield workers
    workers.kill()
    clear_broker()


@pytest.fixture
def own_services() -> None:
    try:
        embedded.current_stand()
    except embedded.EmbeddedUnavailable:
        pytest.skip("the services are not this session's own to restart")


def text_of(name: str) -> str:
    return "\n\n".join(f"# {name} {n}\n\n{name} için madde {n}." for n in range(PARTS))


def upload(agent: Agent, count: int) -> list[IngestionJob]:
    names = [f"belge{n}.md" for n in range(count)]
    return [receive(agent, name=name, data=text_of(name).encode()) for name in names]


def wait_for(condition: Callable[[], bool], workers: Workers, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            jobs = list(IngestionJob.objects.values_list("name", "state", "stage", "error"))
            pytest.fail(f"{what}: {jobs}\n{workers.logs()}")
        time.sleep(0.05)


def stop_in(workers: Workers, *places: str) -> None:
    """Start a worker for each place, and return when all have stopped there."""
    stopped = workers.start(*places)
    wait_for(lambda: all(file.exists() for file in stopped), workers, "not all have stopped")


def let_time_pass() -> None:
    """Waits are over, and beat calls the sweep."""
    IngestionJob.objects.filter(state=State.QUEUED).update(not_before=None)
    sweep()


def all_done() -> bool:
    let_time_pass()
    return not IngestionJob.objects.exclude(state__in=[State.SUCCEEDED, State.FAILED]).exists()


def assert_whole(jobs: list[IngestionJob], server: EmbeddingServer) -> None:
    """Each document is ready with its own passages, each once; and the doctor finds nothing."""
    assert set(IngestionJob.objects.values_list("state", flat=True)) == {State.SUCCEEDED}
    assert set(Document.objects.values_list("state", flat=True)) == {Document.State.READY}
    assert Document.objects.count() == IngestionJob.objects.count() == len(jobs)
    for job in jobs:
        rows = Passage.objects.filter(document=job.document_id).order_by("position")
        expected = [f"{job.name} için madde {n}." for n in range(PARTS)]
        assert [row.text for row in rows] == expected
    assert IndexedPassage.objects.count() == Passage.objects.count() == PARTS * len(jobs)
    assert list(examine(timedelta(0))) == []


def test_a_worker_killed_in_any_stage(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer
) -> None:
    jobs = upload(agent, len(STAGES))
    stop_in(workers, *STAGES[:-1])
    stop_in(workers, STAGES[-1])  # the last: it keeps others from swapping
    stages = IngestionJob.objects.exclude(state=State.SUCCEEDED).values_list("stage", flat=True)
    assert Counter(stages) == Counter(STAGES[:6]) + Counter(["indexing"])  # the swapping one
    workers.kill()
    before = Counter(embedding_server.embedded)
    IngestionJob.objects.filter(state=State.RUNNING).update(lease_until=timezone.now())
    workers.start()
    wait_for(all_done, workers, "not all are done")
    assert_whole(jobs, embedding_server)
    attempts = Counter(IngestionJob.objects.values_list("attempts", flat=True))
    assert attempts == {1: 1, 2: len(STAGES) - 1}  # the finished one was not done again
    assert sum(before.values()) == BATCH + 3 * PARTS  # one batch, and three whole documents
    assert set(Counter(embedding_server.embedded).values()) == {1}  # no batch again


@pytest.mark.parametrize("whole_group", [True, False])
@pytest.mark.parametrize("pool", ["prefork", "solo"])
def test_a_worker_that_is_asked_to_stop_hands_its_job_back(
    agent: Agent,
    workers: Workers,
    embedding_server: EmbeddingServer,
    pool: str,
    whole_group: bool,
) -> None:
    embedding_server.delay = 0.5
    jobs = upload(agent, 1)
    workers.start(POOL=pool)
    wait_for(lambda: len(embedding_server.embedded) >= BATCH, workers, "nothing is embedded")
    worker = workers.running[0]
    if whole_group:
        os.killpg(worker.pid, signal.SIGTERM)  # as Ctrl-C of `up` does
    else:
        worker.terminate()  # as a container's end does
    assert worker.wait(PATIENCE) == 0, workers.logs()
    job = IngestionJob.objects.get()
    assert (job.state, job.attempts, job.faults, job.lease) == (State.QUEUED, 0, 0, None)
    assert job.not_before is None and job.error_code == ""
    assert 0 < job.done < job.total == PARTS
    assert "Traceback" not in workers.logs() and "Lost" not in workers.logs()

    workers.start()  # finds the message that was left, without a sweep
    ended = IngestionJob.objects.filter(state=State.SUCCEEDED, attempts=1)
    wait_for(ended.exists, workers, "it is not done")
    assert_whole(jobs, embedding_server)
    assert set(Counter(embedding_server.embedded).values()) == {1}  # no batch again


def test_workers_killed_again_and_again(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer
) -> None:
    jobs = upload(agent, 3)
    for _ in range(2):
        stop_in(workers, "embedding")
        workers.kill()
        IngestionJob.objects.filter(state=State.RUNNING).update(lease_until=timezone.now())
        sweep()
    workers.start()
    wait_for(all_done, workers, "not all are done")
    assert_whole(jobs, embedding_server)
    assert set(Counter(embedding_server.embedded).values()) == {1}


def test_an_embedding_server_that_fails_one_call_in_three(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer
) -> None:
    embedding_server.fault = Fault.EVERY_THIRD
    jobs = upload(agent, 4)
    for _ in range(2):
        workers.start()
    wait_for(all_done, workers, "not all are done")
    assert_whole(jobs, embedding_server)
    assert set(Counter(embedding_server.embedded).values()) == {1}


def halfway(server: EmbeddingServer) -> Callable[[], bool]:
    return lambda: len(server.requests) >= 5


def test_valkey_restarted_in_the_middle(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer, own_services: None
) -> None:
    embedding_server.delay = 0.1
    jobs = upload(agent, 6)
    for _ in range(2):
        workers.start()
    wait_for(halfway(embedding_server), workers, "nothing is at work")
    embedded.restart_valkey(killed=True)
    wait_for(all_done, workers, "not all are done")
    assert_whole(jobs, embedding_server)


def test_postgresql_restarted_in_the_middle(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer, own_services: None
) -> None:
    embedding_server.delay = 0.1
    jobs = upload(agent, 6)
    for _ in range(2):
        workers.start()
    wait_for(halfway(embedding_server), workers, "nothing is at work")
    connection.close()
    embedded.restart_postgres()
    wait_for(all_done, workers, "not all are done")
    assert_whole(jobs, embedding_server)


def hang(agent: Agent, pid: Path) -> IngestionJob:
    """A text at which the reader hangs in C, every signal blocked, after it wrote its id."""
    return receive(agent, name="donuk.txt", data=f"hang {pid}".encode())


def is_alive(pid: Path) -> bool:
    return Path(f"/proc/{pid.read_text()}").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is not Linux")
@pytest.mark.parametrize("pool", ["solo", "prefork"])
def test_a_reader_that_hangs_does_not_hold_its_worker(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer, tmp_path: Path, pool: str
) -> None:
    pid = tmp_path / "pid"
    texts = {"donuk.txt": f"hang {pid}", "olumcul.txt": "die", "iyi.txt": "İade süresi 14 gündür."}
    for name, text in texts.items():
        receive(agent, name=name, data=text.encode())
    workers.start(READER="tests.ingestion.parsing.hostile", KILLED_AFTER="5", POOL=pool)
    wait_for(all_done, workers, "not all are done")
    ended = IngestionJob.objects.values_list("name", "state", "error_code", "attempts")
    assert set(ended) == {
        ("donuk.txt", State.FAILED, "parse_timeout", 1),
        ("olumcul.txt", State.FAILED, "parser_died", 1),
        ("iyi.txt", State.SUCCEEDED, "", 1),
    }
    states = Document.objects.values_list("uri", "state")
    assert dict(states) == {
        "donuk.txt": "attention",
        "olumcul.txt": "attention",
        "iyi.txt": "ready",
    }
    assert not is_alive(pid)
    assert workers.running[0].poll() is None


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is not Linux")
def test_a_job_whose_reader_hangs_is_cancelled_at_once(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    job = hang(agent, pid)
    workers.start(READER="tests.ingestion.parsing.hostile")
    wait_for(lambda: pid.exists() and bool(pid.read_text()), workers, "nothing hangs")
    cancel(job)
    wait_for(lambda: not is_alive(pid), workers, "the reader goes on")
    receive(agent, name="iyi.txt", data=b"Merhaba.")
    wait_for(lambda: IngestionJob.objects.filter(state="succeeded").exists(), workers, "stuck")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel is not Linux")
def test_a_reader_that_hangs_ends_with_its_worker(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer, tmp_path: Path
) -> None:
    pid = tmp_path / "pid"
    hang(agent, pid)
    workers.start(READER="tests.ingestion.parsing.hostile")
    wait_for(lambda: pid.exists() and bool(pid.read_text()), workers, "nothing hangs")
    os.kill(workers.running[0].pid, signal.SIGKILL)
    wait_for(lambda: not is_alive(pid), workers, "the reader outlives its worker")


def test_a_worker_that_hangs_itself_is_ended_and_its_job_fails_in_the_end(
    agent: Agent, workers: Workers, embedding_server: EmbeddingServer
) -> None:
    receive(agent, name="donuk.txt", data=b"backtrack")
    receive(agent, name="iyi.txt", data="İade süresi 14 gündür.".encode())
    workers.start(POOL="prefork", LEASE="4")
    wait_for(all_done, workers, "not all are done")
    ended = IngestionJob.objects.values_list("name", "state", "error_code", "attempts")
    attempts = IngestionJob.MAX_ATTEMPTS + 1
    assert set(ended) == {
        ("donuk.txt", State.FAILED, "worker_died", attempts),
        ("iyi.txt", State.SUCCEEDED, "", 1),
    }
    assert workers.running[0].poll() is None
    assert "Timeout (0:00:04)!" in (workers.folder / "0.log").read_text()


def test_the_broker_away_at_the_upload(
    agent: Agent,
    workers: Workers,
    embedding_server: EmbeddingServer,
    own_services: None,
) -> None:
    stand = embedded.current_stand()
    stand.valkey.stop()
    try:
        jobs = upload(agent, 2)
        codes: set[Any] = set(IngestionJob.objects.values_list("error_code", flat=True))
    finally:
        stand.valkey.start()
    assert codes == {"broker_unavailable"}
    workers.start()
    wait_for(all_done, workers, "not all are done")
    assert_whole(jobs, embedding_server)
