"""Jobs cannot get stuck: leases, turns, the queue and its sweep, pause, cancel, retry."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from kombu.exceptions import OperationalError
from rich.console import Console

from dolphy import embedding
from dolphy.cache import valkey
from dolphy.celery import DOCUMENTS, app
from dolphy.embedding import EmbedderUnavailable
from ingestion import faults, follow, unfinished
from ingestion import ingest as flow
from ingestion.cancel import JobFinished, cancel
from ingestion.errors import JobNotFinished, JobNotPaused, JobSuperseded
from ingestion.faults import put_back, wait
from ingestion.graph import fit
from ingestion.heartbeat import heartbeat
from ingestion.ingest import ingest, ingest_next
from ingestion.models import LEASE, Index, IngestionJob, Turn
from ingestion.pause import pause, resume
from ingestion.queue import enqueue, send_missing
from ingestion.receive import receive, retry
from ingestion.tasks import ingest_document, sweep
from ingestion.turns import BATCHES_A_TURN, claim, someone_waits
from tenants.models import Agent, Tenant
from tests.embedding_server import EmbeddingServer
from tests.factories import make_agent

State = IngestionJob.State


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer) -> Agent:
    return make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")


@pytest.fixture
def other(db: None, embedding_server: EmbeddingServer) -> Agent:
    return make_agent(Tenant.objects.create(slug="globex", name="Globex"), "help")


@pytest.fixture
def empty_queue() -> Iterator[None]:
    with app.connection_for_write() as connection, connection.channel() as channel:
        channel.queue_declare(DOCUMENTS)
        channel.queue_purge(DOCUMENTS)
    yield
    messages(empty=True)


@pytest.fixture
def no_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*args: Any, **options: Any) -> None:
        raise OperationalError("nobody there")

    monkeypatch.setattr("celery.app.task.Task.apply_async", away)


def messages(*, empty: bool = False) -> int:
    with app.connection_for_write() as connection, connection.channel() as channel:
        size = int(channel._size(DOCUMENTS))
        if empty:
            channel.queue_purge(DOCUMENTS)
        return size


def upload(agent: Agent, name: str = "a.md", parts: int = 1) -> IngestionJob:
    text = "\n\n".join(
        f"# {name} {n}\n\n{agent.tenant.slug} {name} metin {n}" for n in range(parts)
    )
    return receive(agent, name=name, data=text.encode())


def put(job: IngestionJob, **fields: Any) -> IngestionJob:
    IngestionJob.objects.filter(pk=job.pk).update(**fields)
    job.refresh_from_db()
    return job


def dead(job: IngestionJob) -> IngestionJob:
    """As a killed worker leaves it, once its lease has run out."""
    job.start()
    return put(job, lease_until=timezone.now() - timedelta(seconds=1))


# Starting, leases and attempts


def test_of_two_deliveries_one_starts_the_job(agent: Agent) -> None:
    job = upload(agent)
    same = IngestionJob.objects.get(pk=job.pk)
    assert job.start()
    assert not same.start()
    assert (job.attempts, job.state) == (1, State.RUNNING)


def test_a_redelivered_message_of_a_finished_job_changes_nothing(agent: Agent) -> None:
    job = upload(agent)
    assert ingest(job.pk) is not None
    before = IngestionJob.objects.values().get()
    assert ingest(job.pk) is None
    assert ingest_next() is None
    assert IngestionJob.objects.values().get() == before


def test_a_job_whose_lease_ran_out_is_started_again(agent: Agent) -> None:
    job = dead(upload(agent))
    again = claim()
    assert again == job
    assert (again.attempts, again.lease != job.lease) == (2, True)
    assert not job.progress("embedding", 1, 2)  # the worker that was thought dead has lost it
    assert not job.succeed()
    assert not job.fail("x", "y")
    assert not job.give_way()


def test_a_job_that_kills_its_workers_fails_in_the_end_and_says_so(agent: Agent) -> None:
    job = put(dead(upload(agent)), attempts=IngestionJob.MAX_ATTEMPTS)
    ingest_next()
    job.refresh_from_db()
    job.document.refresh_from_db()
    assert (job.state, job.error_code) == (State.FAILED, "worker_died")
    assert job.document.state == "attention"


def test_a_heartbeat_leaves_no_watchdog_behind(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    armed: list[bool] = []
    monkeypatch.setattr(
        "faulthandler.dump_traceback_later", lambda seconds, **how: armed.append(how["exit"])
    )
    monkeypatch.setattr("faulthandler.cancel_dump_traceback_later", lambda: armed.append(False))
    with heartbeat(IngestionJob()):
        pass
    assert armed == [True, False]


@pytest.mark.django_db(transaction=True)
def test_a_heartbeat_renews_the_lease_while_the_worker_lives(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.heartbeat.BEAT_SECONDS", 0.01)
    renewed, renew = threading.Event(), IngestionJob.renew

    def watched(job: IngestionJob) -> bool:
        result = renew(job)
        renewed.set()
        return result

    monkeypatch.setattr(IngestionJob, "renew", watched)
    job = upload(agent)
    job.start()
    put(job, lease_until=timezone.now())
    with heartbeat(job):
        assert renewed.wait(10)
    job.refresh_from_db()
    assert job.lease_until is not None
    assert job.lease_until > timezone.now() + LEASE / 2


# Cancel, pause, resume


def many(agent: Agent, monkeypatch: pytest.MonkeyPatch, batches: int = 6) -> IngestionJob:
    """A job of so many batches, two passages each."""
    monkeypatch.setattr("dolphy.embedding.remote.RemoteEmbedder.batch", 2)
    return upload(agent, parts=2 * batches)


def on_request(server: EmbeddingServer, number: int, act: Any) -> None:
    """Do something while the server answers its n-th request."""
    server.before_answer = lambda _: act() if len(server.requests) == number else None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", [cancel, pause])
def test_a_running_worker_notices_within_one_batch(
    agent: Agent,
    embedding_server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
    act: Any,
) -> None:
    job = many(agent, monkeypatch)
    on_request(embedding_server, 3, lambda: elsewhere(act, job))
    ingest(job.pk)
    assert len(embedding_server.requests) == 3
    job.refresh_from_db()
    assert job.state == {cancel: State.CANCELLED, pause: State.PAUSED}[act]
    assert job.document.passages.count() == 0


def elsewhere(act: Any, job: IngestionJob) -> None:
    """On a connection of this thread's own."""
    try:
        act(IngestionJob.objects.get(pk=job.pk))
    finally:
        connection.close()


@pytest.mark.django_db(transaction=True)
def test_a_paused_job_goes_on_at_the_batch_where_it_was(
    agent: Agent,
    embedding_server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
    empty_queue: None,
) -> None:
    job = many(agent, monkeypatch)
    on_request(embedding_server, 3, lambda: elsewhere(pause, job))
    ingest(job.pk)
    job.refresh_from_db()
    assert (job.done, job.total) == (4, 12)
    assert claim() is None
    assert send_missing() == 0
    first = list(embedding_server.embedded)
    embedding_server.forget()
    embedding_server.before_answer = lambda _: None
    resume(job)
    assert messages() >= 1
    ingest_next()
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED
    assert len(embedding_server.embedded) == 6
    assert not set(first) & set(embedding_server.embedded)


def test_what_has_ended_is_neither_paused_nor_cancelled_nor_resumed(agent: Agent) -> None:
    job = upload(agent)
    ingest(job.pk)
    job.refresh_from_db()
    with pytest.raises(JobFinished):
        pause(job)
    with pytest.raises(JobFinished):
        cancel(job)
    with pytest.raises(JobNotPaused):
        resume(job)
    assert job.state == State.SUCCEEDED


def test_a_paused_job_is_cancelled(agent: Agent) -> None:
    job = upload(agent)
    pause(job)
    pause(job)
    cancel(job)
    assert job.state == State.CANCELLED


# Retry


def test_a_failed_job_starts_anew_with_one_call(agent: Agent) -> None:
    job = put(dead(upload(agent)), attempts=IngestionJob.MAX_ATTEMPTS)
    ingest_next()
    retry(job)
    assert (job.state, job.attempts, job.error_code) == (State.QUEUED, 0, "")
    ingest_next()
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


def test_a_job_at_work_is_not_retried(agent: Agent) -> None:
    job = upload(agent)
    with pytest.raises(JobNotFinished):
        retry(job)
    pause(job)
    with pytest.raises(JobNotFinished):
        retry(job)


def test_an_old_version_is_not_put_over_a_newer_one(agent: Agent) -> None:
    old = upload(agent, parts=1)
    cancel(old)
    new = upload(agent, parts=2)
    with pytest.raises(JobSuperseded):
        retry(old)
    ingest(new.pk)
    old.refresh_from_db()
    with pytest.raises(JobSuperseded):
        retry(old)


# Faults of the surroundings


def test_a_job_that_must_wait_says_why_and_is_not_taken_before_its_time(agent: Agent) -> None:
    job = upload(agent)
    job.start()
    assert put_back(job, EmbedderUnavailable("Away.", wait=120))
    assert (job.state, job.error_code, job.attempts) == (State.QUEUED, "embedder_unavailable", 0)
    assert claim() is None
    assert send_missing() == 0
    put(job, not_before=timezone.now())
    assert claim() == job


def test_waits_double_with_jitter_up_to_a_bound_and_keep_what_was_asked_for() -> None:
    waits = [wait(faults, 0) for faults in range(12)]
    assert 11 < waits[0] <= 15
    assert 22 < waits[1] <= 30
    assert max(waits) <= faults.LONGEST_WAIT
    assert wait(3, 0) != wait(3, 0)
    assert wait(0, 120) == 120
    assert wait(0, 10**9) == 3600


def test_faults_in_a_row_are_counted_and_no_attempt(agent: Agent) -> None:
    job = upload(agent)
    for _ in range(IngestionJob.MAX_ATTEMPTS + 3):
        put(job, not_before=None)
        job.start()
        put_back(job, EmbedderUnavailable())
    assert (job.attempts, job.faults) == (0, IngestionJob.MAX_ATTEMPTS + 3)


# The queue and the sweep


@pytest.mark.django_db(transaction=True)
def test_an_upload_puts_one_message_into_the_queue(agent: Agent, empty_queue: None) -> None:
    upload(agent)
    assert messages() == 1


def test_a_message_goes_to_its_own_queue_and_no_other(agent: Agent, empty_queue: None) -> None:
    with app.connection_for_write() as connection:
        for queue in app.amqp.queues.values():  # as a worker does when it starts
            queue(connection).declare()
        sizes = {name: valkey().llen(name) for name in app.amqp.queues}
        enqueue(upload(agent))
        grown = [name for name in app.amqp.queues if valkey().llen(name) != sizes[name]]
    assert grown == [DOCUMENTS]


@pytest.mark.django_db(transaction=True)
def test_an_upload_stands_when_the_broker_is_away_and_the_job_says_so(
    agent: Agent, no_broker: None
) -> None:
    job = upload(agent)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (State.QUEUED, "broker_unavailable")


@pytest.mark.django_db(transaction=True)
def test_the_sweep_sends_what_was_not_sent_and_the_job_says_so(
    agent: Agent, empty_queue: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("ingestion.queue.send", lambda *_: False)
        job = upload(agent)
    job.refresh_from_db()
    assert job.error_code == "broker_unavailable"
    assert sweep() == 1
    job.refresh_from_db()
    assert (messages(), job.error_code) == (1, "")


def test_the_sweep_does_not_flood_the_queue(agent: Agent, empty_queue: None) -> None:
    for number in range(5):
        enqueue(upload(agent, f"{number}.md"))
    assert [sweep() for _ in range(3)] == [0, 0, 0]
    assert messages(empty=True) == 5
    assert [sweep() for _ in range(3)] == [5, 0, 0]


def test_the_sweep_finds_what_a_killed_worker_left(agent: Agent, empty_queue: None) -> None:
    job = upload(agent)
    job.start()
    assert sweep() == 0
    put(job, lease_until=timezone.now() - timedelta(seconds=1))
    assert sweep() == 1


def test_the_sweep_stops_when_the_broker_is_away(agent: Agent, no_broker: None) -> None:
    upload(agent)
    upload(agent, "b.md")
    assert sweep() == 0


def test_more_messages_than_jobs_do_no_harm(agent: Agent) -> None:
    job = upload(agent)
    for _ in range(3):
        ingest_document(str(job.pk))
    job.refresh_from_db()
    assert (job.state, job.attempts) == (State.SUCCEEDED, 1)


@pytest.mark.django_db(transaction=True)
def test_a_finished_job_stays_so_when_its_index_cannot_be_fitted(
    agent: Agent, no_broker: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingestion.graph.wants_graph", lambda index: not index.has_graph)
    job = upload(agent)
    ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (State.SUCCEEDED, "")
    fit(Index.objects.get())


def test_who_waits_at_a_terminal_sweeps_as_well(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = upload(agent)
    monkeypatch.setattr(follow, "POLL_SECONDS", 0)
    monkeypatch.setattr(follow, "SWEEP_EVERY", 2)
    monkeypatch.setattr(follow, "send_missing", ingest_next)  # as a worker that gets the message
    (ended,) = follow.follow([job], Console(quiet=True))
    assert ended.state == State.SUCCEEDED


# Turns


def test_a_tenant_with_ten_thousand_documents_does_not_stand_before_another(
    agent: Agent, other: Agent
) -> None:
    first = upload(agent, "0.md")
    copies = [
        IngestionJob(
            tenant_id=agent.tenant_id,
            agent=agent,
            document=first.document,
            name=f"{number}.md",
            size=1,
        )
        for number in range(10_000)
    ]
    IngestionJob.objects.bulk_create(copies)
    for _ in range(3):
        assert taken() == "acme"
    upload(other)
    assert [taken(), taken()] == ["globex", "acme"]


def taken() -> str:
    job = claim()
    assert job is not None
    return job.tenant.slug


def test_tenants_take_turns_and_each_has_its_own_order(agent: Agent, other: Agent) -> None:
    for number in range(3):
        upload(agent, f"a{number}.md")
    for number in range(2):
        upload(other, f"b{number}.md")
    names = []
    while job := claim():
        names.append(job.name)
    of_acme = [name for name in names if name.startswith("a")]
    of_globex = [name for name in names if name.startswith("b")]
    assert of_acme == ["a0.md", "a1.md", "a2.md"]
    assert of_globex == ["b0.md", "b1.md"]
    assert [name[0] for name in names[:4]] in (["a", "b"] * 2, ["b", "a"] * 2)


def test_a_long_job_gives_way_between_batches_and_keeps_what_it_has(
    agent: Agent,
    other: Agent,
    embedding_server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    long = many(agent, monkeypatch, batches=3 * BATCHES_A_TURN)
    short = upload(other, "kısa.md")
    put(short, not_before=timezone.now() + timedelta(hours=1))
    # The other tenant's document arrives while the long one is at its second batch.
    arrive_at_progress(monkeypatch, short, done=4)
    ended: list[str] = []
    while job := ingest_next():
        job.refresh_from_db()
        ended.append(f"{job.tenant.slug} {job.state}")
    assert ended == ["acme queued", "globex succeeded", "acme succeeded"]
    order = ["kısa" in texts[0] for texts in embedding_server.requests]
    assert order.index(True) == BATCHES_A_TURN
    assert Counter(embedding_server.embedded).most_common(1)[0][1] == 1  # nothing twice
    long.refresh_from_db()
    assert (long.attempts, long.done, long.total) == (1, 24, 24)


@pytest.mark.parametrize("same_process, parsed", [(True, 1), (False, 2)])
def test_a_job_that_gave_way_is_not_parsed_again_in_the_same_process(
    agent: Agent,
    other: Agent,
    monkeypatch: pytest.MonkeyPatch,
    same_process: bool,
    parsed: int,
) -> None:
    names: list[str] = []
    real = flow.parse
    monkeypatch.setattr(
        flow, "parse", lambda data, name, **told: (names.append(name), real(data, name, **told))[1]
    )
    many(agent, monkeypatch, batches=2 * BATCHES_A_TURN)
    Turn.objects.create(tenant=other.tenant, served_at=timezone.now())
    upload(other, "kısa.md")
    job = ingest_next()
    assert job is not None
    assert job.state == State.QUEUED
    if not same_process:
        unfinished._kept.clear()
    ingest_next()
    ingest_next()
    assert names.count("a.md") == parsed
    assert set(IngestionJob.objects.values_list("state", flat=True)) == {State.SUCCEEDED}
    assert unfinished._kept == {}


def test_what_a_job_prepared_is_not_used_under_another_title(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    job = upload(agent)
    embedder = embedding.configured()
    prepared = object()
    unfinished.keep(job, embedder, prepared)  # type: ignore[arg-type]
    job.document.given_title = "Başka"
    assert unfinished.take(job, embedder) is None
    job.document.given_title = ""
    assert unfinished.take(job, embedder) is prepared
    assert unfinished.take(job, embedder) is None


def arrive_at_progress(monkeypatch: pytest.MonkeyPatch, job: IngestionJob, done: int) -> None:
    real = IngestionJob.progress

    def progress(self: IngestionJob, stage: str, so_far: int = 0, total: int = 0) -> bool:
        if so_far == done:
            IngestionJob.objects.filter(pk=job.pk).update(not_before=None)
        return real(self, stage, so_far, total)

    monkeypatch.setattr(IngestionJob, "progress", progress)


def test_a_long_job_goes_on_while_nobody_else_waits(
    agent: Agent, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = many(agent, monkeypatch, batches=3 * BATCHES_A_TURN)
    upload(agent, "b.md")  # of the same tenant
    ingest_next()
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


def test_nobody_gives_way_to_a_tenant_who_is_being_served(agent: Agent, other: Agent) -> None:
    mine = upload(agent)
    mine.start()
    assert not someone_waits(mine)
    first = upload(other)
    assert someone_waits(mine)
    first.start()
    upload(other, "b.md")
    assert not someone_waits(mine)
    put(first, lease_until=timezone.now() - timedelta(seconds=1))
    assert someone_waits(mine)


def test_a_job_that_is_done_at_once_gives_no_way(
    agent: Agent, other: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that does its own work has no queue to go back to."""
    job = many(agent, monkeypatch, batches=3 * BATCHES_A_TURN)
    upload(other)
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == State.SUCCEEDED


@pytest.mark.django_db(transaction=True)
def test_workers_who_claim_at_the_same_time_get_different_jobs(agent: Agent, other: Agent) -> None:
    for number in range(4):
        upload(agent, f"{number}.md")
        upload(other, f"{number}.md")
    got: list[Any] = []
    start = threading.Barrier(4)

    def work() -> None:
        try:
            start.wait()
            while job := claim():
                got.append(job.pk)
        finally:
            connection.close()

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(30)
    while job := claim():  # one that was locked when the last worker looked
        got.append(job.pk)
    assert len(got) == len(set(got)) == 8
