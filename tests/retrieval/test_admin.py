"""What the web admin shows of traces."""

from __future__ import annotations

import pytest
from django.test import Client

from ingestion.documents import delete
from retrieval.fates import VERDICTS
from retrieval.models import Trace
from retrieval.retrieve import retrieve
from retrieval.traces import record
from tenants.models import User
from tests.factories import QUESTION, World, make_document


@pytest.fixture
def staff(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("root@dolphy.example", "secret"))
    return client


def shown(staff: Client, trace: Trace) -> str:
    page = staff.get(f"/admin/retrieval/trace/{trace.pk}/change/")
    assert page.status_code == 200
    return page.content.decode()


def test_a_trace_is_a_table_of_candidates_with_their_verdicts(acme: World, staff: Client) -> None:
    make_document(acme.agent, "b.md", ["Kargo iade <süresi> 14 gün."], title="<i>Kargo</i>")
    trace = record(acme.agent, retrieve(acme.agent, QUESTION, limit=1))
    page = shown(staff, trace)
    assert "&lt;i&gt;Kargo&lt;/i&gt;" in page and "<i>Kargo" not in page
    assert VERDICTS["kept"] in page and VERDICTS["beyond_limit"] in page
    assert f"/admin/ingestion/document/{acme.document.pk}/change/" in page
    for name in ("Roots of the question", "semantic_weight", "İade süresi"):
        assert name in page
    raw = page.index("<details>")
    assert page.index("Candidates") < raw < page.index("&quot;candidates&quot;")


def test_a_trace_says_how_its_question_was_read_and_whether_it_was_answered(
    acme: World, staff: Client
) -> None:
    trace = record(acme.agent, retrieve(acme.agent, QUESTION))
    trace.record["slips"] = [{"typed": "süersi", "meant": "süresi"}]
    trace.record["answering"] = {
        "answers": True, "score": 1.02, "threshold": 0.93, "cosine": 0.9, "coverage": 0.8,
    }  # fmt: skip
    trace.save()
    page = shown(staff, trace)
    assert "süersi read as süresi" in page
    assert "coverage 0.80 make 1.020, 0.93 is wanted" in page
    trace.record["answering"] = {"answers": None, "cosine": 0.9, "coverage": 0.8}
    trace.save()
    assert "not measured for this embedding space" in shown(staff, trace)


def test_a_trace_outlives_its_documents(acme: World, staff: Client) -> None:
    trace = record(acme.agent, retrieve(acme.agent, QUESTION))
    delete(acme.document)
    page = shown(staff, trace)
    assert "iade.md <em>(replaced or removed)</em>" in page


def test_the_trace_of_an_agent_without_passages_is_shown(acme: World, staff: Client) -> None:
    acme.index.delete()
    trace = record(acme.agent, retrieve(acme.agent, QUESTION))
    assert "The pool was empty." in shown(staff, trace)
