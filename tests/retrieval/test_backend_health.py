"""Backend health: who may see it, what it says, and the page a person reads."""

from __future__ import annotations

from datetime import timedelta
from html.parser import HTMLParser
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import Client
from django.utils import timezone

from dolphy.cache import valkey
from ingestion.models import (
    Index,
    IndexedPassage,
    IndexProbe,
    IngestionJob,
    SpaceProbe,
    serving_index,
)
from ingestion.probe import probe_index, probe_spaces
from retrieval import underfills
from retrieval.backend_health import report, surroundings
from retrieval.statement import REFILLED
from tenants.models import Agent, Tenant, User
from tests.embedding_server import EmbeddingServer, Fault
from tests.factories import World, ingest_text, make_agent, make_job

PATH = "/backend-health"
TOKEN = "operator-token-of-this-test"


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """No worker runs here, and asking for one always takes its whole patience."""
    valkey().delete("retrieval:underfills")
    monkeypatch.setattr(surroundings, "WORKERS_PATIENCE", 0.05)


@pytest.fixture
def agent(db: None, embedding_server: EmbeddingServer) -> Agent:
    agent = make_agent(Tenant.objects.create(slug="acme", name="Acme"), "help")
    ingest_text(agent, "iade.md", "# İade\n\nİade süresi on dört gündür.")
    probe_spaces()
    probe_index(index_of(agent))
    return agent


@pytest.fixture
def staff(db: None) -> Client:
    client = Client()
    client.force_login(User.objects.create_user("staff@dolphy.example", is_staff=True))
    return client


def index_of(agent: Agent) -> Index:
    index = serving_index(agent)
    assert index is not None
    return index


def codes(found: dict[str, Any]) -> set[str]:
    """The problems that are not about this test having no worker."""
    return {problem["code"] for problem in found["problems"]} - {"no_worker"}


def seen(client: Client) -> dict[str, Any]:
    response = client.get(PATH, {"format": "json"})
    assert response.status_code == 200
    return response.json()


# The door


def test_the_anonymous_are_asked_to_sign_in_and_see_nothing(acme: World) -> None:
    page = Client().get(PATH, headers={"Accept": "text/html"})
    assert (page.status_code, page["Location"]) == (302, "/admin/login/?next=%2Fbackend-health")
    answer = Client().get(PATH, headers={"Accept": "application/json"})
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "sign_in_needed"
    assert b"acme" not in page.content + answer.content


def test_a_tenants_user_and_a_tenants_key_see_nothing(acme: World) -> None:
    client = Client()
    client.force_login(acme.user)
    page, answer = client.get(PATH), client.get(PATH, {"format": "json"})
    assert (page.status_code, answer.status_code) == (403, 403)
    assert answer.json()["error"]["code"] == "staff_only"
    assert b"acme" not in page.content + answer.content
    assert acme.client.get(PATH, {"format": "json"}).status_code == 401


def test_staff_who_have_left_see_nothing(staff: Client) -> None:
    User.objects.update(is_active=False)
    assert staff.get(PATH, {"format": "json"}).status_code == 401


def test_the_operators_token_opens_it_and_no_other(acme: World, settings: Any) -> None:
    def status(token: str) -> int:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        return Client().get(PATH, headers=headers).status_code

    assert [status(""), status(TOKEN)] == [401, 401]
    settings.HEALTH_TOKEN = TOKEN
    assert [status(""), status(TOKEN[:-1]), status("ö"), status(TOKEN)] == [401, 401, 401, 200]


def test_it_is_only_for_reading_and_never_kept(staff: Client) -> None:
    assert staff.post(PATH).status_code == 405
    assert "no-store" in staff.get(PATH, {"format": "json"})["Cache-Control"]


# What it says


def test_a_sound_backend_has_no_problems(agent: Agent, staff: Client) -> None:
    found = seen(staff)
    assert codes(found) == set()
    assert found["embedder"]["state"] == "answers" and found["embedder"]["ms"] > 0
    assert found["chat_model"] == {"model": "", "state": "not configured"}
    assert found["branches"]["lexical"] == {"stemmed": "ready", "plain": "ready"}
    assert found["branches"]["semantic"]["exact"] == 1
    space = found["spaces"][0]
    assert (space["agents"], space["passages"], space["served"]) == (1, 1, True)
    assert space["probe"]["median"] > 0.999
    only = found["agents"]["shown"][0]
    assert (only["agent"], only["trust"], only["stale"]) == ("acme/help", "trusted", 0)
    assert 0 <= found["last_probe"]["age_s"] < 60
    assert found["queue"]["state"] == "answers" and "ingestion" in found["queue"]["waiting"]


def test_the_json_has_its_documented_parts(agent: Agent, staff: Client) -> None:
    assert set(seen(staff)) == {
        *("status", "problems", "at", "last_probe", "spaces", "agents", "building"),
        *("analyser", "branches", "embedder", "chat_model", "queue", "jobs", "workers"),
        "underfilled",
    }


def test_without_a_worker_it_says_so(agent: Agent, staff: Client) -> None:
    found = seen(staff)
    assert found["workers"] == []
    assert (found["status"], found["problems"][0]["code"]) == ("attention", "no_worker")


def test_a_swapped_model_is_named_with_the_agents_it_silences(
    agent: Agent, staff: Client, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.weights = "another-model"
    probe_index(index_of(agent))
    found = seen(staff)
    assert "space_mismatch" in codes(found)
    assert found["agents"]["shown"][0]["trust"] == "mismatch"
    assert found["spaces"][0]["mismatched"] == 1
    settings.DOLPHY_IGNORE_PROBE = True
    assert "probe_ignored" in codes(seen(staff))


def test_a_space_that_is_not_served_is_a_problem(
    agent: Agent, staff: Client, embedding_server: EmbeddingServer, settings: Any
) -> None:
    embedding_server.configure(settings, model="new-model", dimensions=32)
    assert codes(seen(staff)) == {"space_not_served"}


def test_an_old_probe_and_a_missing_one_are_problems(agent: Agent, staff: Client) -> None:
    SpaceProbe.objects.update(measured_at=timezone.now() - timedelta(hours=50))
    assert codes(seen(staff)) == {"probe_old"}
    SpaceProbe.objects.all().delete()
    assert codes(seen(staff)) == {"never_probed"}


def test_an_agent_that_no_probe_vouches_for_is_not_called_trusted(
    agent: Agent, staff: Client
) -> None:
    IndexProbe.objects.update(compared=0)
    for trust in ("not compared", "not probed yet"):
        found = seen(staff)
        assert found["agents"]["shown"][0]["trust"] == trust
        assert (found["spaces"][0]["mismatched"], codes(found)) == (0, set())
        page = Page(staff.get(PATH).content.decode())
        assert trust in page.text and "trusted" not in page.text
        IndexProbe.objects.all().delete()
    assert "1 agent not looked at yet" in page.text


def test_one_of_a_thing_is_not_told_as_many(agent: Agent, staff: Client) -> None:
    document = IngestionJob.objects.get(agent=agent).document
    make_job(document, "failed", error_code="worker_died", finished_at=timezone.now())
    messages = [problem["message"] for problem in seen(staff)["problems"]]
    assert "1 job failed in the last day." in messages


def test_every_queue_is_told(staff: Client, db: None) -> None:
    assert set(seen(staff)["queue"]["waiting"]) == {"documents", "ingestion", "upkeep"}


def test_passages_of_an_older_analyser_are_counted(agent: Agent, staff: Client) -> None:
    IndexedPassage.objects.filter(agent=agent).update(analyser=0)
    probe_index(index_of(agent))
    found = seen(staff)
    assert codes(found) == {"analyser_stale"}
    assert (found["analyser"]["stale"], found["analyser"]["passages"]) == (1, {"0": 1})


def test_branches_that_are_not_ready_are_named(agent: Agent, staff: Client) -> None:
    Index.objects.filter(agent=agent).update(passages=50_000)
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX indexed_passage_plain")
    found = seen(staff)
    assert codes(found) == {"graph_missing", "branch_not_ready"}
    assert found["branches"]["lexical"] == {"stemmed": "ready", "plain": "missing"}
    assert found["branches"]["semantic"]["graphs_missing"] == 1


def test_an_embedder_that_fails_or_hangs_is_told_within_its_patience(
    agent: Agent,
    staff: Client,
    embedding_server: EmbeddingServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedding_server.fault = Fault.NAN
    found = seen(staff)["embedder"]
    assert (found["state"], found["error_code"]) == ("fails", "bad_vectors")
    monkeypatch.setattr(surroundings, "PATIENCE", 0.2)
    embedding_server.fault = Fault.HANG
    assert seen(staff)["embedder"]["state"] == "no answer"


def test_a_queue_that_is_away_is_a_problem_and_not_an_error(
    agent: Agent, staff: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    away = redis.Redis.from_url("unix:///nowhere/valkey.sock")
    monkeypatch.setattr(surroundings, "valkey", lambda: away)
    found = seen(staff)
    assert found["queue"]["state"] == "no answer"
    assert codes(found) == {"queue"}


def test_underfilled_pools_are_counted(agent: Agent, staff: Client) -> None:
    underfills.count(agent, {"pool": {"underfilled": True}, "route": "graph"})
    underfills.count(agent, {"pool": {"underfilled": False}, "route": REFILLED})
    found = seen(staff)
    assert found["underfilled"] == {"state": "counted", "refilled": 1, "short": 1, "agents": 1}
    assert codes(found) == {"underfilled"}


def test_jobs_that_failed_died_or_wait_are_counted(agent: Agent, staff: Client) -> None:
    now = timezone.now()
    document = IngestionJob.objects.get(agent=agent).document
    make_job(document, "queued", error_code="embedder_unavailable")
    make_job(document, "failed", error_code="worker_died", finished_at=now)
    dead = {"lease": document.pk, "lease_until": now - timedelta(minutes=1)}
    make_job(document, "running", **dead)
    found = seen(staff)
    assert codes(found) == {"jobs_held_up", "jobs_failed", "jobs_dead"}
    jobs = found["jobs"]
    assert (jobs["queued"], jobs["running"], jobs["failed_last_day"]) == (1, 1, 1)
    assert jobs["oldest_age_s"] >= 0


@pytest.mark.parametrize(
    "code",
    [
        *("broken_file", "no_content", "garbled_text", "password_protected", "needs_javascript"),
        *("quota_passages", "passages_refused", "parse_timeout", "unsupported_media_type"),
    ],
)
def test_a_verdict_about_a_document_is_told_and_is_no_problem(
    agent: Agent, staff: Client, code: str
) -> None:
    document = IngestionJob.objects.get(agent=agent).document
    make_job(document, "failed", error_code=code, finished_at=timezone.now())
    found = seen(staff)
    assert codes(found) == set()
    assert (found["jobs"]["failed_last_day"], found["jobs"]["refused_last_day"]) == (0, 1)
    page = staff.get(PATH).content.decode()
    assert "/admin/ingestion/ingestionjob/?state__exact=failed" in page


def test_an_index_that_is_being_built_is_shown(agent: Agent, staff: Client) -> None:
    Index.objects.create(
        tenant=agent.tenant, agent=agent, space=index_of(agent).space, state="building"
    )
    assert seen(staff)["building"][0]["agent"] == "acme/help"


def test_a_long_list_of_agents_shows_the_worst_first(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_agent(agent.tenant, "zz-last")
    ingest_text(other, "iade.md", "İade süresi on dört gündür.")
    Index.objects.filter(agent=other).update(trusted=False)
    found = report()
    assert found["agents"]["shown"][0]["agent"] == "acme/zz-last"


# The page


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data.split()

    @property
    def text(self) -> str:
        return " ".join(self.words)


def test_a_person_gets_a_page_without_any_script(agent: Agent, staff: Client) -> None:
    response = staff.get(PATH, headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert response["Content-Type"].startswith("text/html")
    page = Page(response.content.decode())
    assert "script" not in page.tags
    for words in ("acme/help", "trusted", "matches", "test-embedding/64", "1.0000", "just now"):
        assert words in page.text
    assert staff.get(PATH).headers["Content-Type"].startswith("text/html")


def test_a_program_gets_json(agent: Agent, staff: Client) -> None:
    response = staff.get(PATH, headers={"Accept": "application/json"})
    assert response["Content-Type"] == "application/json"


def test_the_page_of_an_empty_installation_stands(staff: Client) -> None:
    page = Page(staff.get(PATH).content.decode())
    assert "No agent has passages yet." in page.text
