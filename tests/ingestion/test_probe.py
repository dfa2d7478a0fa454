"""The self-cosine probe, against a scripted endpoint over real HTTP."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.conf import settings as django_settings
from django.core.management import CommandError, call_command
from django.test import Client

from dolphy import embedding
from dolphy.embedding import BadVectors, SpaceNotServed
from ingestion import probe
from ingestion.errors import SpaceMismatch
from ingestion.ingest import ingest
from ingestion.models import (
    Document,
    EmbeddingSpace,
    Index,
    IndexedPassage,
    IndexProbe,
    IngestionJob,
    SpaceProbe,
    serving_index,
)
from ingestion.probe import (
    Measured,
    doubtful,
    pooled,
    probe_index,
    probe_space,
    probe_spaces,
    samples,
    spread,
)
from ingestion.receive import receive
from ingestion.tasks import probe_all_spaces, probe_doubtful, probe_nightly, probe_one
from retrieval.retrieve import retrieve
from tenants.models import Agent, ApiKey, Tenant
from tests.embedding_server import EmbeddingServer, Fault, services, vector_of
from tests.factories import caller, ingest_text, make_agent

QUESTION = "İade süresi kaç gün?"
MANY = "\n\n".join(f"# Konu {n}\n\nMadde {n} için iade süresi {n} gündür." for n in range(12))


@pytest.fixture
def tenant(db: None) -> Tenant:
    return Tenant.objects.create(slug="acme", name="Acme")


@pytest.fixture
def agent(tenant: Tenant, embedding_server: EmbeddingServer) -> Agent:
    agent = make_agent(tenant, "help")
    ingest_text(agent, "iade.md", MANY)
    embedding_server.forget()
    return agent


def index_of(agent: Agent) -> Index:
    index = serving_index(agent)
    assert index is not None
    return index


def vectors(agent: Agent) -> dict[int, Any]:
    rows = IndexedPassage.objects.filter(tenant=agent.tenant_id, agent=agent.pk)
    return {row.passage_id: list(row.vector) for row in rows}


# The verdict


def test_vectors_of_the_same_model_are_trusted(agent: Agent) -> None:
    found = probe_index(index_of(agent))
    assert (found.compared, found.changed, found.below) == (8, 0, 0)
    assert 1 >= found.median > 0.999 and 1 >= found.lowest > 0.999
    assert index_of(agent).trusted
    assert retrieve(agent, QUESTION).trace["trust"] == "trusted"


def test_a_swapped_model_of_the_same_width_makes_searches_an_error(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    _, secret = ApiKey.issue(agent.tenant, "widget")
    embedding_server.weights = "another-model"
    found = probe_index(index_of(agent))
    assert found.median < 0.5 and found.below == found.compared == 8
    with pytest.raises(SpaceMismatch):
        retrieve(agent, QUESTION)
    answer = caller(secret).post(
        f"/api/v1/agents/{agent.pk}/search", {"question": QUESTION}, "application/json"
    )
    assert answer.status_code == 503
    assert answer.json()["error"]["code"] == "space_mismatch"


def test_a_search_of_a_mismatched_agent_embeds_nothing(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.weights = "another-model"
    probe_index(index_of(agent))
    embedding_server.forget()
    with pytest.raises(SpaceMismatch):
        retrieve(agent, QUESTION)
    assert embedding_server.requests == []


def test_a_model_that_is_back_is_trusted_again_and_its_questions_are_embedded_anew(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    best = retrieve(agent, QUESTION).evidence[0].text
    embedding_server.weights = "another-model"
    assert retrieve(agent, "Madde 3?").trace["vector_from"] == "embedder"  # remembered, and wrong
    probe_index(index_of(agent))
    embedding_server.weights = None
    probe_index(index_of(agent))
    again = retrieve(agent, "Madde 3?")
    assert again.trace["vector_from"] == "embedder"
    assert again.evidence[0].text.startswith("Madde 3")
    assert retrieve(agent, QUESTION).evidence[0].text == best


def test_an_index_filled_by_two_models_is_not_trusted(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.weights = "another-model"
    ingest_text(agent, "kargo.md", "# Kargo\n\n" + "Kargo ücreti elli liradır. " * 80)
    embedding_server.weights = None
    found = probe_index(index_of(agent))
    assert found.median > 0.98 > found.lowest
    assert not index_of(agent).trusted


def test_one_odd_passage_in_eight_is_shown_and_forgiven() -> None:
    odd = Measured((0.4, *[1.0] * 7))
    assert (odd.below, odd.trusted) == (1, True)
    assert Measured((0.4, 0.4, *[1.0] * 6)).trusted is False
    assert Measured((0.4,)).trusted is False
    assert Measured().trusted is None


def test_the_threshold_is_a_setting(agent: Agent, settings: Any) -> None:
    settings.PROBE_THRESHOLD = 1.0
    assert Measured((0.999999,)).trusted is False
    settings.PROBE_THRESHOLD = 0.5
    assert Measured((0.51,)).trusted is True


def test_a_changed_text_is_counted_as_changed_and_not_as_a_bad_space(agent: Agent) -> None:
    Document.objects.filter(agent=agent).update(title="Başka bir başlık")
    found = probe_index(index_of(agent))
    assert (found.compared, found.changed, found.median) == (0, 8, None)
    assert index_of(agent).trusted


def test_a_long_title_is_rebuilt_as_it_was_embedded(
    tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    agent = make_agent(tenant, "long")
    ingest_text(agent, "uzun.md", f"# {'Çok uzun bir başlık ' * 20}\n\n## Alt\n\nİade 14 gündür.")
    assert probe_index(index_of(agent)).compared == 1


def test_an_embedder_that_is_away_changes_no_verdict(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.fault = Fault.BAD_REQUEST
    found = probe_index(index_of(agent))
    assert (found.error_code, found.compared) == ("bad_vectors", 0)
    assert index_of(agent).trusted


# Overrides


def test_an_operator_may_let_one_agent_answer_all_the_same(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.weights = "another-model"
    out = StringIO()
    call_command("probe", "acme/help", "--ignore", "--json", stdout=out)
    shown = json.loads(out.getvalue())["agents"][0]
    assert (shown["trust"], shown["ignored"]) == ("mismatch ignored", True)
    out = StringIO()
    call_command("probe", "acme/help", "--ignore", stdout=out)
    assert "acme/help answers whatever the probe says" in out.getvalue()
    assert retrieve(agent, QUESTION).trace["trust"] == "mismatch ignored"
    with pytest.raises(CommandError, match="1 of 1 agents answer no searches"):
        call_command("probe", "acme/help", "--heed", stdout=out)
    assert "acme/help heeds the probe" in out.getvalue()
    with pytest.raises(SpaceMismatch):
        retrieve(agent, QUESTION)


def test_an_operator_may_let_all_agents_answer(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.weights = "another-model"
    probe_index(index_of(agent))
    settings.DOLPHY_IGNORE_PROBE = True
    assert retrieve(agent, QUESTION).trace["trust"] == "mismatch ignored"


def test_nothing_is_added_to_a_mismatched_index(
    agent: Agent, embedding_server: EmbeddingServer
) -> None:
    embedding_server.weights = "another-model"
    probe_index(index_of(agent))
    job = receive(agent, name="yeni.md", data=b"Yeni sayfa, yeni metin.", uri="yeni.md")
    with pytest.raises(SpaceMismatch):
        ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (IngestionJob.State.QUEUED, "space_mismatch")


# Which passages


def test_the_same_passages_are_taken_every_time_the_newest_among_them(agent: Agent) -> None:
    index = index_of(agent)
    first, second = samples(index, 5), samples(index, 5)
    assert [one.text for one in first] == [one.text for one in second]
    assert len(first) == 5
    assert first[0].text.startswith("Madde 0") and first[-1].text.startswith("Madde 11")
    assert len(samples(index, 100)) == 12
    assert [one.text for one in samples(index, 1)] == [first[-1].text]


def test_keys_are_spread_from_one_end_to_the_other() -> None:
    assert spread([1, 2, 3], 5) == [1, 2, 3]
    assert sorted(spread(list(range(101)), 5)) == [0, 25, 50, 75, 100]


# Spaces


def test_a_space_is_probed_over_its_agents_and_a_bad_agent_by_itself(
    agent: Agent, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    embedding_server.weights = "another-model"
    bad = make_agent(tenant, "bad")
    ingest_text(bad, "iade.md", MANY.replace("Madde", "Konu"))
    embedding_server.weights = None
    found = probe_space(index_of(agent).space)
    assert (found.compared, found.below) == (16, 8)
    assert index_of(agent).trusted and not index_of(bad).trusted
    assert retrieve(agent, QUESTION).evidence
    with pytest.raises(SpaceMismatch):
        retrieve(bad, QUESTION)


def test_a_swapped_model_is_found_in_every_agent_of_the_space(
    agent: Agent, tenant: Tenant, embedding_server: EmbeddingServer
) -> None:
    others = [make_agent(tenant, f"a{n}") for n in range(4)]
    for other in others:
        ingest_text(other, "iade.md", "İade süresi on dört gündür.")
    embedding_server.weights = "another-model"
    probe_space(index_of(agent).space, passages=2)
    assert not any(index_of(one).trusted for one in [agent, *others])


def test_start_nightly_and_doubtful_probes_run_as_tasks(
    agent: Agent, embedding_server: EmbeddingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe_one, "delay", probe_one.run)
    embedding_server.weights = "another-model"
    probe_all_spaces.run()
    assert SpaceProbe.objects.count() == 1
    assert not index_of(agent).trusted
    embedding_server.weights = None
    probe_doubtful.run()
    assert index_of(agent).trusted
    assert not doubtful().exists()
    probe_nightly.run()
    assert SpaceProbe.objects.count() == 2
    assert IndexProbe.objects.filter(agent=agent).count() == 3


@pytest.mark.slow
def test_a_worker_that_starts_probes_what_is_stored(
    transactional_db: None, embedding_server: EmbeddingServer
) -> None:
    agent = make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")
    ingest_text(agent, "iade.md", MANY)
    embedding_server.weights = "another-model"
    command = ["celery", "-A", "dolphy", "worker", "--pool", "solo", "--hostname", "probing@here"]
    worker = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=django_settings.BASE_DIR,
        env=os.environ | services() | embedding_server.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        until = time.monotonic() + 60
        while index_of(agent).trusted and time.monotonic() < until and worker.poll() is None:
            time.sleep(0.1)
    finally:
        worker.terminate()
        said, _ = worker.communicate(timeout=30)
    assert not index_of(agent).trusted, said.decode()
    assert SpaceProbe.objects.get().below == 8


def test_old_figures_are_forgotten(agent: Agent, monkeypatch: pytest.MonkeyPatch) -> None:
    probe_spaces()
    probe.forget_old_probes()
    assert SpaceProbe.objects.count() == 1
    monkeypatch.setattr(probe, "KEPT", -probe.KEPT)
    probe.forget_old_probes()
    assert SpaceProbe.objects.count() == 0


def test_measurements_are_pooled_whole() -> None:
    assert pooled([Measured((1.0,), 1), Measured((0.5,), 2, "away")]) == Measured(
        (1.0, 0.5), 3, "away"
    )


# The command


def test_the_command_prints_figures_per_space_and_per_agent(agent: Agent) -> None:
    out = StringIO()
    call_command("probe", "--json", stdout=out)
    figures = json.loads(out.getvalue())
    assert [one["space"] for one in figures["spaces"]] == [str(index_of(agent).space)]
    only = figures["agents"][0]
    assert (only["agent"], only["trust"], only["compared"]) == ("acme/help", "trusted", 8)


def test_the_command_refuses_what_it_does_not_know(agent: Agent) -> None:
    for words in (["acme/nobody"], ["--ignore"], ["acme/help", "--passages", "0"]):
        with pytest.raises(CommandError):
            call_command("probe", *words)


# Spaces and vectors that are refused


BAD = [Fault.OTHER_WIDTH, Fault.NAN, Fault.ZEROS, Fault.UNNORMALISED, Fault.FEWER]


@pytest.mark.parametrize("fault", BAD, ids=lambda fault: fault.name)
def test_unusable_vectors_are_refused_at_once_and_nothing_is_stored(
    agent: Agent, embedding_server: EmbeddingServer, fault: Fault
) -> None:
    before = vectors(agent)
    embedding_server.fault = fault
    job = receive(agent, name="yeni.md", data=b"Yeni sayfa, yeni metin.", uri="yeni.md")
    ingest(job.pk)
    job.refresh_from_db()
    assert (job.state, job.error_code) == (IngestionJob.State.FAILED, "bad_vectors")
    assert vectors(agent) == before
    with pytest.raises(BadVectors):
        retrieve(agent, QUESTION)
    embedding_server.fault = Fault.NONE
    assert retrieve(agent, QUESTION).trace["vector_from"] == "embedder"


def test_an_agent_of_a_space_that_is_not_served_answers_with_that_error(
    agent: Agent, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.configure(settings, model="new-model", dimensions=32)
    with pytest.raises(SpaceNotServed):
        retrieve(agent, QUESTION)
    assert probe_index(index_of(agent)).error_code == "space_not_served"
    assert index_of(agent).trusted


def test_the_embedder_before_the_configured_one_may_be_served_as_well(
    agent: Agent, tenant: Tenant, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.configure(settings, model="new-model", dimensions=32)
    embedding_server.keep_as_previous(settings)
    assert retrieve(agent, QUESTION).evidence
    fresh = make_agent(tenant, "fresh")
    ingest_text(fresh, "iade.md", "İade süresi on dört gündür.")
    assert index_of(fresh).space.model == "new-model"
    assert EmbeddingSpace.objects.count() == 2


def test_settings_decide_about_the_embedder_at_every_moment(
    embedding_server: EmbeddingServer, settings: Any
) -> None:
    first = embedding.configured()
    assert embedding.configured() is first
    embedding_server.configure(settings, model="new-model", dimensions=32)
    assert embedding.configured().space.dimensions == 32


def test_the_scripted_endpoint_makes_the_vectors_it_says(embedding_server: EmbeddingServer) -> None:
    found = embedding.configured().embed_question("İade süresi")
    assert np.allclose(found, vector_of("test-embedding", "İade süresi"), atol=1e-6)
    assert embedding_server.embedded == ["İade süresi"]
    assert Client().get("/healthz").status_code == 200
