"""Re-embedding beside what serves: resumed after a kill, and no search in between mixes spaces."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from dolphy import embedding
from dolphy.embedding import SpaceNotServed
from ingestion import graph, reembed, respell, swap
from ingestion.analyse import ANALYSER_VERSION
from ingestion.documents import delete, set_enabled
from ingestion.errors import IndexRetired, SpaceMismatch
from ingestion.ingest import ingest
from ingestion.models import (
    Document,
    Index,
    IndexedPassage,
    IngestionJob,
    Passage,
    Word,
    serving_index,
)
from ingestion.probe import probe_index
from ingestion.receive import receive
from ingestion.reembed import (
    NewIndexMismatch,
    NothingToReembed,
    ReembedRunning,
)
from ingestion.retired import remove_retired
from ingestion.tasks import remove_retired_indexes
from retrieval import question
from retrieval.retrieve import retrieve
from tenants.models import Agent, Tenant
from tests.embedding_server import MODEL, EmbeddingServer, Fault, services, vector_of
from tests.factories import ingest_text, make_agent

NEW = "new-model"
PASSAGES = 200
QUESTION = "İade süresi kaç gün?"
pytestmark = pytest.mark.django_db(transaction=True)
State = Index.State


def pages(first: int, last: int) -> str:
    return "\n\n".join(
        f"# Konu {n}\n\nMadde {n} için iade süresi {n} gündür." for n in range(first, last)
    )


@pytest.fixture
def agent(transactional_db: None, embedding_server: EmbeddingServer, settings: Any) -> Agent:
    """An agent in the space of the model that is the previous one from here on."""
    tenant = Tenant.objects.create(slug="acme", name="Acme")
    agent = make_agent(tenant, "help")
    for start in range(0, PASSAGES, 50):
        ingest_text(agent, f"{start}.md", pages(start, start + 50))
    embedding_server.forget()
    embedding_server.configure(settings, model=NEW)
    embedding_server.keep_as_previous(settings)
    return agent


def index_of(agent: Agent) -> Index:
    index = serving_index(agent)
    assert index is not None
    return index


def rows(index: Index) -> Any:
    return IndexedPassage.objects.filter(index=index.pk, tenant=index.tenant_id)


def building(agent: Agent) -> Index | None:
    return Index.objects.filter(agent=agent, state=State.BUILDING).first()


def every_row_is_of(index: Index, model: str) -> bool:
    """Whether each stored vector is this model's for the text of its passage."""
    held = {row.passage_id: np.array(list(row.vector)) for row in rows(index)}
    texts = Passage.objects.select_related("document").in_bulk(held)
    return all(
        held[key] @ vector_of(model, f"{one.document.title}\n{one.heading[0]}\n{one.text}") > 0.99
        for key, one in texts.items()
        if one.heading[0] != one.document.title
    )


@contextmanager
def searching(agent: Agent) -> Iterator[list[Any]]:
    """Searches in a thread of their own, one after the other, until the block ends.

    Each is checked where it happens: the question's vector against the space the trace names, and
    every similarity against the vectors of that space.
    """
    seen: list[Any] = []
    wrong: list[BaseException] = []
    stop = threading.Event()

    def run() -> None:
        number = 0
        try:
            while not stop.is_set():
                number += 1
                found = retrieve(agent, f"Madde {number % PASSAGES} iade süresi?")
                check(found)
                seen.append((found.trace["space"], len(found.evidence)))
        except BaseException as error:
            wrong.append(error)
        finally:
            connection.close()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield seen
    finally:
        stop.set()
        thread.join()
    if wrong:
        raise wrong[0]


def check(found: Any) -> None:
    model = found.trace["space"].split("/")[1]
    asked = vector_of(model, found.trace["embedded"])
    assert found.evidence
    for one in found.evidence:
        whole = "\n".join(dict.fromkeys((one.document, *one.heading, one.text)))
        similarity = float(asked @ vector_of(model, whole))
        assert one.similarity == pytest.approx(similarity, abs=0.01), (model, one)


def test_an_agent_moves_to_the_configured_space_in_one_step(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    old = index_of(agent)
    steps: list[tuple[int, int]] = []
    outcome = reembed.reembed(agent, progress=lambda done, total: steps.append((done, total)))
    new = index_of(agent)
    assert new.pk == outcome.index.pk != old.pk
    assert (new.space.model, new.passages, rows(new).count()) == (NEW, PASSAGES, PASSAGES)
    assert every_row_is_of(new, NEW)
    assert outcome.done.embedded == PASSAGES
    assert steps[0] == (0, PASSAGES) and steps[-1] == (PASSAGES, PASSAGES)
    old.refresh_from_db()
    assert old.state == State.RETIRED and old.retired_at is not None
    found = retrieve(agent, QUESTION)
    assert found.trace["space"] == str(new.space)
    check(found)


def test_no_search_during_a_reembed_mixes_spaces_or_comes_back_empty(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.delay = 0.02
    with searching(agent) as seen:
        reembed.reembed(agent)
        enough = len(seen) + 20
        while len(seen) < enough and threading.active_count() > 1 and not stalled(seen):
            time.sleep(0.01)
    spaces = [space for space, _ in seen]
    assert {space.split("/")[1] for space in spaces} == {MODEL, NEW}
    assert spaces == sorted(spaces, key=lambda space: space.split("/")[1] == NEW)


def stalled(seen: list[Any], seconds: float = 5.0) -> bool:
    """Whether no search ended for a while (its thread has failed)."""
    before, until = len(seen), time.monotonic() + seconds
    while len(seen) == before:
        if time.monotonic() > until:
            return True
        time.sleep(0.01)
    return False


def test_a_killed_run_resumes_where_it_was_and_searches_go_on(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.delay = 0.1
    with searching(agent) as seen:
        process = subprocess.Popen(
            [sys.executable, "manage.py", "reembed", "acme/help"],
            cwd=django_settings.BASE_DIR,
            env=os.environ | services() | embedding_server.environment(model=NEW),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        wait_for(lambda: (one := building(agent)) is not None and rows(one).count() >= 64, process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        kept = building(agent)
        assert kept is not None
        finished = rows(kept).count()
        assert 64 <= finished < PASSAGES
        assert index_of(agent).space.model == MODEL
        wait_for(lambda: not lock_is_held())
        embedding_server.forget()
        outcome = reembed.reembed(agent)
    passages = [text for text in embedding_server.embedded if text.count("\n")]
    probed = 8
    assert outcome.index.pk == kept.pk
    assert outcome.resumed == finished
    assert outcome.done.embedded == PASSAGES - finished
    assert len(passages) == PASSAGES - finished + probed
    assert every_row_is_of(index_of(agent), NEW)
    assert seen


def wait_for(ready: Any, process: Any = None, seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not ready():
        if process is not None and process.poll() is not None:
            pytest.fail(process.stdout.read().decode())
        assert time.monotonic() < until
        time.sleep(0.02)


def lock_is_held() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
        return cursor.fetchone()[0] > 0


def test_an_embedder_that_fails_midway_leaves_the_old_index_serving(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    def fail_later(texts: list[str]) -> None:
        if len(embedding_server.requests) > 2:
            embedding_server.fault = Fault.ZEROS

    embedding_server.before_answer = fail_later
    with pytest.raises(CommandError, match="bad_vectors"):
        call_command("reembed", "acme/help", stdout=StringIO())
    assert index_of(agent).space.model == MODEL
    embedding_server.before_answer = lambda texts: None
    embedding_server.fault = Fault.NONE
    out = StringIO()
    call_command("reembed", "acme/help", stdout=out)
    assert "128 passages kept from before" in " ".join(out.getvalue().split())
    assert index_of(agent).space.model == NEW


def test_what_changes_meanwhile_is_in_the_new_index_as_it_is_now(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    """Documents change while their own batch is embedded, and once more during the last probe."""
    ahead = [change_documents, lambda agent: ingest_text(agent, "late.md", pages(600, 603))]

    def change(texts: list[str]) -> None:
        midway = len(ahead) == 2 and len(embedding_server.requests) == 3
        probing = len(ahead) == 1 and len(texts) == 8
        if midway or probing:
            thread = threading.Thread(target=apart, args=(ahead.pop(0), agent))
            thread.start()
            thread.join()

    embedding_server.before_answer = change
    reembed.reembed(agent)
    assert not ahead
    new = index_of(agent)
    now = set(Passage.objects.filter(agent=agent).values_list("pk", flat=True))
    assert set(rows(new).values_list("passage_id", flat=True)) == now
    assert len(now) == 5 + 50 + 20 + 10 + 3
    assert rows(new).filter(enabled=False).count() == 20
    assert new.passages == len(now) - 20
    assert every_row_is_of(new, NEW)


def change_documents(agent: Agent) -> None:
    """The third batch holds passages of 100.md and 150.md."""
    ingest_text(agent, "new.md", pages(300, 310))
    ingest_text(agent, "0.md", pages(400, 405))
    delete(Document.objects.get(agent=agent, uri="150.md"))
    ingest_text(agent, "100.md", pages(700, 720))
    set_enabled(Document.objects.get(agent=agent, uri="100.md"), False)


def apart(act: Callable[[Agent], object], agent: Agent) -> None:
    try:
        act(agent)
    finally:
        connection.close()


def test_the_retired_index_goes_after_a_grace_and_takes_its_rows_along(agent: Agent) -> None:
    old = index_of(agent)
    reembed.reembed(agent)
    remove_retired_indexes.run()
    assert rows(old).count() == PASSAGES
    Index.objects.filter(pk=old.pk).update(retired_at=timezone.now() - timedelta(hours=1))
    remove_retired_indexes.run()
    assert not Index.objects.filter(pk=old.pk).exists()
    assert rows(old).count() == 0
    assert rows(index_of(agent)).count() == PASSAGES


def test_a_search_whose_index_is_gone_is_run_once_more_with_the_new_one(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, replaced = question.embedded, []

    def replaced_after(*args: Any) -> Any:
        vector = real(*args)
        if not replaced:
            replaced.append(vector)
            reembed.reembed(agent)
            remove_retired(timedelta(0))
        return vector

    monkeypatch.setattr(question, "embedded", replaced_after)
    found = retrieve(agent, QUESTION)
    assert found.evidence and found.trace["space"].split("/")[1] == NEW
    check(found)


def test_a_document_that_was_on_its_way_into_the_old_index_goes_into_the_new_one(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = swap.swap

    def switched_first(*args: Any) -> None:
        monkeypatch.setattr("ingestion.ingest.swap", real)
        reembed.reembed(agent)
        real(*args)

    monkeypatch.setattr("ingestion.ingest.swap", switched_first)
    job = receive(agent, name="yeni.md", data=pages(500, 505).encode(), uri="yeni.md")
    with pytest.raises(IndexRetired):
        ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (IngestionJob.State.QUEUED, "index_retired")
    ingest(job.pk)
    job.refresh_from_db()
    assert job.state == IngestionJob.State.SUCCEEDED
    new = index_of(agent)
    assert rows(new).count() == PASSAGES + 5
    assert every_row_is_of(new, NEW)


def test_a_large_agent_has_its_graph_before_it_is_searched(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "EXACT_UP_TO", 100)
    monkeypatch.setattr(graph, "GRAPH_DOWN_TO", 50)
    reembed.reembed(agent)
    new = index_of(agent)
    assert new.has_graph
    assert retrieve(agent, QUESTION).trace["route"] == "graph"
    Index.objects.filter(pk=new.pk).update(state=State.RETIRED, retired_at=timezone.now())
    remove_retired(timedelta(0))
    with connection.cursor() as cursor:
        cursor.execute("SELECT to_regclass(%s)", [graph.name_of(new)])
        assert cursor.fetchone()[0] is None


def test_a_new_analyser_rewrites_the_lexemes_and_embeds_nothing(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.configure(settings)
    old = index_of(agent)
    rows(old).update(analyser=0, stemmed="", plain="")
    assert retrieve(agent, QUESTION, fusion="lexical").evidence == ()
    out = StringIO()
    call_command("reembed", "acme/help", "--analyser", stdout=out)
    new = index_of(agent)
    assert new.pk != old.pk and new.space == old.space
    assert set(rows(new).values_list("analyser", flat=True)) == {ANALYSER_VERSION}
    assert retrieve(agent, QUESTION, fusion="lexical").evidence
    assert every_row_is_of(new, MODEL)
    passages = [text for text in embedding_server.embedded if text.count("\n")]
    assert len(passages) == 8  # the probe of the new index, and nothing else
    assert "0 texts embedded, 200 vectors copied" in " ".join(out.getvalue().split())


def words() -> set[tuple[Any, ...]]:
    columns = ("tenant", "agent", "document", "folded", "surface", "count")
    return set(Word.objects.values_list(*columns))


def test_a_new_analyser_counts_the_words_anew_as_an_ingestion_would(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.configure(settings)
    ingested = words()
    assert len(ingested) > 20
    Word.objects.filter(folded="sure-").delete()
    Word.objects.filter(folded="gundur").update(surface="gundur", count=9)
    rows(index_of(agent)).update(analyser=0)
    reembed.reembed(agent)
    assert words() == ingested


def test_another_space_alone_leaves_the_words_as_they_are(agent: Agent) -> None:
    Word.objects.filter(folded="gundur").update(count=9)
    before = words()
    reembed.reembed(agent)
    assert words() == before


def test_a_document_that_is_replaced_meanwhile_keeps_its_new_words(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any, monkeypatch: Any
) -> None:
    embedding_server.configure(settings)
    rows(index_of(agent)).update(analyser=0)
    count = respell._words

    def counted_late(*args: Any) -> Any:
        found = count(*args)
        if not Word.objects.filter(folded="yepyeni").exists():
            ingest_text(agent, "0.md", "# Yeni\n\nYepyeni bir metin.")
        return found

    monkeypatch.setattr(respell, "_words", counted_late)
    reembed.reembed(agent)
    replaced = Word.objects.filter(document__uri="0.md").values_list("folded", flat=True)
    assert "yepyeni" in replaced
    assert "gundur" not in replaced


def test_there_is_nothing_to_do_in_the_same_space_unless_it_is_asked_for_or_doubted(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.configure(settings)
    first = index_of(agent)
    with pytest.raises(NothingToReembed):
        reembed.reembed(agent)
    assert building(agent) is None
    reembed.reembed(agent, again=True)
    assert index_of(agent).pk != first.pk
    embedding_server.weights = "another-model"
    probe_index(index_of(agent))
    with pytest.raises(SpaceMismatch):
        retrieve(agent, QUESTION)
    reembed.reembed(agent)
    assert index_of(agent).trusted
    assert every_row_is_of(index_of(agent), "another-model")
    assert retrieve(agent, QUESTION).evidence


def test_a_model_that_changes_midway_is_found_before_the_switch(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    def swap_later(texts: list[str]) -> None:
        if len(embedding_server.requests) > 2:
            embedding_server.weights = "another-model"

    embedding_server.before_answer = swap_later
    with pytest.raises(NewIndexMismatch):
        reembed.reembed(agent)
    assert index_of(agent).space.model == MODEL
    embedding_server.before_answer = lambda texts: None
    embedding_server.weights = None
    reembed.reembed(agent, restart=True)
    assert every_row_is_of(index_of(agent), NEW)


def test_a_run_towards_another_space_starts_anew(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.fault = Fault.NAN
    with pytest.raises(embedding.BadVectors):
        reembed.reembed(agent)
    left = building(agent)
    embedding_server.fault = Fault.NONE
    embedding_server.configure(settings, model="third-model", dimensions=32)
    reembed.reembed(agent)
    assert left is not None and not Index.objects.filter(pk=left.pk).exists()
    assert index_of(agent).space.dimensions == 32


def test_two_runs_of_one_agent_do_not_meet(agent: Agent, embedding_server: EmbeddingServer) -> None:
    refused: list[BaseException] = []

    def second() -> None:
        try:
            reembed.reembed(agent)
        except ReembedRunning as error:
            refused.append(error)
        finally:
            connection.close()

    def start_second(texts: list[str]) -> None:
        embedding_server.before_answer = lambda texts: None
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()

    embedding_server.before_answer = start_second
    reembed.reembed(agent)
    assert len(refused) == 1


def test_while_the_old_model_is_gone_searches_say_so_until_the_agent_has_moved(
    agent: Agent, settings: Any
) -> None:
    settings.PREVIOUS_EMBEDDING_MODEL = ""
    with pytest.raises(SpaceNotServed):
        retrieve(agent, QUESTION)
    reembed.reembed(agent)
    assert retrieve(agent, QUESTION).evidence


def test_passages_that_the_new_model_cannot_read_whole_are_named(
    agent: Agent, settings: Any
) -> None:
    ingest_text(agent, "uzun.md", "# Uzun\n\n" + "İade süresi on dört gündür. " * 40)
    settings.EMBEDDING_MAX_TOKENS = 150
    out = StringIO()
    call_command("reembed", "acme/help", stdout=out)
    assert "longer than this model reads" in " ".join(out.getvalue().split())


def test_the_command_refuses_what_it_cannot_do(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    make_agent(agent.tenant, "empty")
    with pytest.raises(CommandError, match="not_found"):
        call_command("reembed", "acme/nobody")
    with pytest.raises(CommandError, match="no_passages"):
        call_command("reembed", "acme/empty", stdout=StringIO())
    with pytest.raises(CommandError, match="space_not_served"):
        call_command("reembed", "acme/help", "--space", "elsewhere/model/64")
    assert building(agent) is None
    out = StringIO()
    call_command("reembed", "acme/help", "--space", f"127.0.0.1/{MODEL}/64", stdout=out)
    assert "already" in out.getvalue()
