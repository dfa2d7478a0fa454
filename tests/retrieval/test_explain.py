"""A stored trace is shown, replayed, and says where a document ended and why."""

from __future__ import annotations

import json
import uuid
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from ingestion.documents import delete, set_enabled
from ingestion.models import Document, EmbeddingSpace
from retrieval.fates import fates, ordinal
from retrieval.models import Trace
from retrieval.replay import DEEPEST, replay
from retrieval.retrieve import retrieve
from retrieval.traces import record
from tenants.models import Agent
from tests.factories import QUESTION, World, make_document

pytestmark = pytest.mark.django_db


def explain(trace: Trace, *words: str) -> str:
    out = StringIO()
    call_command("explain", str(trace.pk), *words, stdout=out)
    return out.getvalue()


def as_json(trace: Trace, *words: str) -> dict[str, Any]:
    return json.loads(explain(trace, "--json", *words))


def asked(world: World, **how: Any) -> Trace:
    return record(world.agent, retrieve(world.agent, QUESTION, **how))


def set_agent(world: World, **fields: Any) -> None:
    Agent.objects.filter(pk=world.agent.pk).update(**fields)
    world.agent.refresh_from_db()


def test_a_trace_that_nothing_has_changed_since_replays_to_the_same_order(acme: World) -> None:
    shown = explain(asked(acme))
    assert QUESTION in shown
    assert "the same evidence in the same order" in shown
    assert "iade.md#0" in shown
    assert "kept: is evidence" in shown and "duplicate:" not in shown


def test_it_says_how_the_question_was_read_and_why_the_evidence_answers(acme: World) -> None:
    trace = asked(acme)
    trace.record["answering"] |= {
        "answers": False, "score": 0.915, "threshold": 0.93, "cosine": 0.9, "coverage": 0.1,
    }  # fmt: skip
    trace.record["slips"] = [{"typed": "süersi", "meant": "süresi"}]
    trace.record["embedded"] = "iade süresi"
    trace.save()
    shown = " ".join(explain(trace).split())
    assert "slips put right: süersi read as süresi" in shown
    assert "read as: iade süresi" in shown
    assert (
        "answers? no: the first evidence's similarity 0.900 and coverage 0.10 make 0.915" in shown
    )


def test_a_replay_uses_the_settings_of_the_trace_and_changes_nothing(acme: World) -> None:
    trace = asked(acme, fusion="rrf", limit=1)
    set_agent(acme, semantic_depth=1, semantic_weight=0.1, lexical_weight=0.9)
    again = replay(Trace.objects.get(pk=trace.pk))
    assert again.same_evidence
    assert again.differences == ()
    assert again.now.trace["settings"] == trace.record["settings"]
    assert Agent.objects.get(pk=acme.agent.pk).semantic_depth == 1


@pytest.mark.parametrize("fusion", ["calibrated", "semantic", "lexical"])
def test_every_fusion_can_be_replayed(acme: World, fusion: str) -> None:
    again = as_json(asked(acme, fusion=fusion))["replay"]
    assert again["same_pool"]
    assert again["differences"] == []


def test_a_new_document_is_named_as_the_difference(acme: World) -> None:
    trace = asked(acme)
    make_document(acme.agent, "yeni.md", ["İade süresi artık otuz gündür."])
    again = as_json(trace)["replay"]
    assert not again["same_evidence"]
    said = " ".join(again["differences"])
    assert "The number of passages in the index was 2, and is 3." in said
    assert "1 passage is new in the pool: yeni.md#0." in said


def test_a_document_that_is_gone_is_named_as_the_difference(acme: World) -> None:
    trace = asked(acme)
    delete(acme.document)
    again = as_json(trace)["replay"]
    assert any("2 passages are no longer in the pool" in line for line in again["differences"])


def test_a_document_ingested_again_unchanged_is_the_same(acme: World) -> None:
    texts = [passage.text for passage in acme.document.passages.order_by("position")]
    trace = asked(acme)
    delete(acme.document)
    make_document(acme.agent, "iade.md", texts)
    assert as_json(trace)["replay"]["same_pool"]


def test_a_passage_whose_text_changed_is_named(acme: World) -> None:
    trace = asked(acme)
    delete(acme.document)
    make_document(acme.agent, "iade.md", ["Bambaşka bir metin.", "acme kargo ücreti 50 liradır."])
    said = " ".join(as_json(trace)["replay"]["differences"])
    assert "of another cosine" in said
    assert "iade.md#0" in said


def test_another_analyser_is_named_as_the_difference(acme: World) -> None:
    trace = asked(acme)
    trace.record["analyser"] = 0
    trace.save()
    said = " ".join(as_json(trace)["replay"]["differences"])
    assert "The analyser version was 0, and is" in said


def test_an_agent_that_lost_everything_says_so(acme: World) -> None:
    trace = asked(acme)
    acme.index.delete()
    again = as_json(trace)["replay"]
    assert not again["same_evidence"]
    assert any("embedding space" in line for line in again["differences"])


def test_a_trace_is_shown_when_its_question_cannot_be_asked_any_more(acme: World) -> None:
    trace = asked(acme)
    EmbeddingSpace.objects.filter(pk=acme.index.space_id).update(revision="another")
    shown = explain(trace, "--document", "iade.md")
    assert "It cannot be asked now: space_not_served" in shown
    assert "iade.md#0: kept: it is evidence number 1" in shown
    assert as_json(trace)["replay"]["error"]["code"] == "space_not_served"
    make_document(acme.agent, "bos.md", ["Bahçe."])
    assert "cannot be said: The embedding space" in ended(trace, "bos.md")


# Where a document ended


def ended(trace: Trace, uri: str) -> str:
    found = as_json(trace, "--document", uri)["document"]
    return " ".join(found["lines"])


def test_a_kept_document_says_its_number_and_how_it_was_reached(acme: World) -> None:
    said = ended(asked(acme), "iade.md")
    assert "iade.md#0: kept: it is evidence number 1; 1st by meaning, 1st by words" in said


def test_a_document_beyond_the_limit_says_its_place(acme: World) -> None:
    make_document(acme.agent, "son.md", ["Bambaşka bir konu: bahçe bakımı."])
    said = ended(asked(acme, limit=1), "son.md")
    assert "beyond_limit: place 3 in the order, and the limit is 1" in said


def test_a_repeated_text_says_that_its_twin_stays(acme: World) -> None:
    make_document(acme.agent, "tekrar.md", ["acme iade süresi 14 gündür."])
    assert "duplicate: its text is that of a better candidate" in ended(asked(acme), "tekrar.md")


def test_a_passage_over_its_documents_cap_says_so(acme: World) -> None:
    set_agent(acme, document_cap=1, strongest_document_cap=1)
    make_document(acme.agent, "kargo.md", ["Kargo iade süresi bir haftadır."])
    said = ended(asked(acme, limit=2), "iade.md")
    assert "over_cap: its document had given the 1 passages that its cap allows" in said


def test_a_cap_that_leaves_room_is_filled_and_says_so(acme: World) -> None:
    set_agent(acme, document_cap=1, strongest_document_cap=1)
    said = ended(asked(acme), "iade.md")
    assert "filled: over its document's cap of 1, but there was room: number 2" in said


def test_a_document_out_of_the_pool_says_how_far_out_it_is(acme: World) -> None:
    set_agent(acme, semantic_depth=1, lexical_depth=1)
    make_document(acme.agent, "bahce.md", ["Bahçe bakımı ve çim biçme."])
    said = ended(asked(acme), "bahce.md")
    assert "none of its passages was among the 1 nearest by meaning or the first 1 by words" in said
    assert f"Looking {DEEPEST} deep now, its nearest passage is #0: 3rd by meaning" in said


def test_a_disabled_document_says_that_it_is(acme: World) -> None:
    document = make_document(acme.agent, "kapali.md", ["İade süresi on gündür."])
    set_enabled(document, False)
    assert "It is disabled now" in ended(asked(acme), "kapali.md")


def test_a_document_that_is_not_ready_says_why(acme: World) -> None:
    Document.objects.create(tenant=acme.tenant, agent=acme.agent, uri="bekleyen.md")
    assert "waiting for its first ingestion" in ended(asked(acme), "bekleyen.md")


def test_another_tenants_document_is_not_known_here(acme: World, globex: World) -> None:
    make_document(globex.agent, "gizli.md", ["İade süresi beş gündür."])
    with pytest.raises(CommandError, match="acme/help has no document of that URI now"):
        explain(asked(acme), "--document", "gizli.md")


def test_the_end_of_a_uri_is_enough_when_one_document_has_it(acme: World) -> None:
    for uri in ("https://acme.example/randevu.html", "eski/fiyat.html", "yeni/fiyat.html"):
        make_document(acme.agent, uri, ["Randevu alınır."])
    trace = asked(acme)
    assert "https://acme.example/randevu.html#0" in ended(trace, "randevu.html")
    assert "https://acme.example/randevu.html#0" in ended(trace, "devu.html")
    assert "eski/fiyat.html#0" in ended(trace, "eski/fiyat.html")
    with pytest.raises(CommandError, match=r"2 documents end in 'fiyat\.html': eski"):
        explain(trace, "--document", "fiyat.html")


def test_a_uri_in_whole_is_meant_before_the_end_of_another(acme: World) -> None:
    make_document(acme.agent, "eski/iade.md", ["Eski iade koşulları."])
    assert "iade.md#0: kept: it is evidence number 1" in ended(asked(acme), "iade.md")


def test_an_unknown_document_is_refused_with_those_near_to_it(acme: World) -> None:
    with pytest.raises(CommandError, match=r"Near to it: iade\.md"):
        explain(asked(acme), "--document", "iadee.md")
    with pytest.raises(CommandError, match="takes its URI, or the end of it"):
        explain(asked(acme), "--document", "zzzz")


def test_fates_are_read_from_the_trace_alone(acme: World) -> None:
    trace = asked(acme)
    delete(acme.document)
    found = fates(trace.record, "iade.md")
    assert [fate.rank for fate in found] == [1, 2]


@pytest.mark.parametrize("trace_id", [str(uuid.uuid4()), "latest"])
def test_an_unknown_trace_is_refused(trace_id: str) -> None:
    with pytest.raises(CommandError, match="not_found"):
        call_command("explain", trace_id)


def test_ordinals() -> None:
    assert [ordinal(n) for n in (1, 2, 3, 4, 11, 12, 21, 112)] == [
        "1st", "2nd", "3rd", "4th", "11th", "12th", "21st", "112th",
    ]  # fmt: skip
