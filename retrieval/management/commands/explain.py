"""`manage.py explain TRACE [--document URI]`: why the evidence came in this order, then and now."""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict
from difflib import get_close_matches
from typing import Any
from uuid import UUID

from django.core.management import BaseCommand, CommandError
from rich.console import Console

from dolphy.errors import DolphyError, NotFound
from ingestion.models import Document
from retrieval.fates import VERDICTS, Fate, fates, ordinal
from retrieval.models import Trace
from retrieval.replay import DEEPEST, Replay, reach, replay
from retrieval.show import candidates_table, judgement, reading

WIDTH = 132
SHOWN = 5
Again = Replay | DolphyError


class Command(BaseCommand):
    help = "Show a stored trace, replay it, and say where a document ended and why."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("trace", metavar="TRACE", help="the id of a trace")
        parser.add_argument(
            "--document",
            metavar="URI",
            help="say where this document ended; the end of its URI will do",
        )
        parser.add_argument("--json", action="store_true", help="print JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            trace = stored(options["trace"])
            again = _replayed(trace)
            document = options["document"]
            ended = _ended(trace, named(trace, document)) if document else None
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        if options["json"]:
            self.stdout.write(_as_json(trace, again, ended))
        else:
            self._show(trace, again, ended)

    def _show(self, trace: Trace, again: Again, ended: dict[str, Any] | None) -> None:
        console = Console(file=self.stdout, width=None if self.stdout.isatty() else WIDTH)  # type: ignore[arg-type]
        record = trace.record
        console.print(trace.question, style="bold", markup=False, highlight=False)
        console.print(f"{trace.agent} · {trace.created_at:%F %T} UTC · {record.get('space')}")
        console.print(_said(record["settings"]), highlight=False)
        for line in (*reading(record), f"answers? {judgement(record)}"):
            console.print(line, markup=False, highlight=False)
        console.print(candidates_table(record))
        for line in _verdicts(record):
            console.print(line, style="dim", highlight=False)
        if ended is not None:
            console.rule("Where it ended")
            for line in ended["lines"]:
                console.print(line, markup=False, highlight=False)
        console.rule("Asked again now")
        for line in _verdict(again):
            console.print(line, markup=False, highlight=False)


def stored(trace_id: str) -> Trace:
    """The trace with its agent and tenant, or `NotFound`."""
    try:
        key = UUID(trace_id)
    except ValueError:
        raise NotFound(f"{trace_id!r} is not the id of a trace.") from None
    found = Trace.objects.select_related("agent__tenant").filter(pk=key).first()
    if found is None:
        raise NotFound(f"There is no trace {trace_id}.")
    if "settings" not in found.record:
        raise NotFound(f"Trace {trace_id} holds no settings to replay.")
    return found


def named(trace: Trace, name: str) -> str:
    """The uri that a person means: one of the pool or of the agent's documents, or its end.

    Raises `NotFound` for none, and for an end that several have.
    """
    documents = Document.objects.filter(tenant=trace.tenant_id, agent=trace.agent_id)
    uris = {row["uri"] for row in trace.record["candidates"]}
    uris |= set(documents.values_list("uri", flat=True))
    if name in uris:
        return name
    parts = sorted(uri for uri in uris if uri.endswith(f"/{name}"))
    ends = parts or sorted(uri for uri in uris if uri.endswith(name))
    if len(ends) == 1:
        return ends[0]
    if ends:
        raise NotFound(f"{len(ends)} documents end in {name!r}: {_some(ends)}. Name one of them.")
    near = get_close_matches(name, sorted(uris), SHOWN, cutoff=0.5)
    hint = (
        f"Near to it: {_some(near)}." if near else "`--document` takes its URI, or the end of it."
    )
    raise NotFound(
        f"{name} was not in the pool, and {trace.agent} has no document of that URI now. {hint}"
    )


def _some(uris: Sequence[str]) -> str:
    rest = len(uris) - SHOWN
    return ", ".join(uris[:SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def _replayed(trace: Trace) -> Again:
    """The replay, or why the question cannot be asked now: the trace can be read all the same."""
    try:
        return replay(trace)
    except DolphyError as error:
        return error


def _ended(trace: Trace, uri: str) -> dict[str, Any]:
    """What became of the document then, passage by passage, or why it was not in the pool."""
    found = fates(trace.record, uri)
    lines = [_sentence(fate) for fate in found] or _absent(trace, uri)
    return {"uri": uri, "in_pool": bool(found), "passages": _as_dicts(found), "lines": lines}


def _as_dicts(found: Sequence[Fate]) -> list[dict[str, Any]]:
    return [asdict(fate) for fate in found]


def _sentence(fate: Fate) -> str:
    return (
        f"{fate.uri}#{fate.position}: {fate.verdict}: {fate.reason}; "
        f"{fate.reached_by}, cosine {fate.similarity:.4f}."
    )


def _absent(trace: Trace, uri: str) -> list[str]:
    document = Document.objects.filter(
        tenant=trace.tenant_id, agent=trace.agent_id, uri=uri
    ).first()
    if document is None:
        return [f"{uri} was not in the pool, and {trace.agent} has no document of that uri now."]
    if not document.enabled:
        return [f"{uri} was not in the pool. It is disabled now, so no branch looks at it."]
    if document.state != Document.State.READY:
        return [f"{uri} was not in the pool. It is not ready: {document.get_state_display()}."]
    settings = trace.record["settings"]
    return [
        f"{uri} was not in the pool: none of its passages was among the "
        f"{settings['semantic_depth']} nearest by meaning or the first "
        f"{settings['lexical_depth']} by words.",
        _out_of_reach(trace, uri),
    ]


def _out_of_reach(trace: Trace, uri: str) -> str:
    try:
        rows = reach(trace, uri)
    except DolphyError as error:
        return f"How far out it is cannot be said: {error.message}"
    if not rows:
        return f"Nor is it among the first {DEEPEST} of either branch now."
    places = ((row["semantic_rank"], row["lexical_rank"], row["position"]) for row in rows)
    semantic, lexical, position = min(places, key=lambda place: min(filter(None, place[:2])))
    meaning = f"{ordinal(semantic)} by meaning" if semantic else f"beyond {DEEPEST} by meaning"
    words = f"{ordinal(lexical)} by words" if lexical else "without a place by words"
    return f"Looking {DEEPEST} deep now, its nearest passage is #{position}: {meaning}, {words}."


def _verdict(again: Again) -> list[str]:
    if isinstance(again, DolphyError):
        return [f"It cannot be asked now: {again.code}: {again.message}"]
    order = "the same evidence in the same order" if again.same_evidence else "other evidence"
    pool = "" if again.same_pool else ", from another pool"
    return [f"It finds {order}{pool}.", *again.differences]


def _verdicts(record: dict[str, Any]) -> list[str]:
    """What the verdicts that stand in the table mean."""
    there = {row["verdict"] for row in record["candidates"]}
    return [f"{name}: {meaning}" for name, meaning in VERDICTS.items() if name in there]


def _said(settings: dict[str, Any]) -> str:
    return " · ".join(f"{name} {value}" for name, value in settings.items())


def _as_json(trace: Trace, again: Again, ended: dict[str, Any] | None) -> str:
    found = {
        "id": str(trace.pk),
        "agent": str(trace.agent),
        "question": trace.question,
        "created_at": trace.created_at.isoformat(),
        "trace": trace.record,
        "replay": {"error": again.as_dict()} if isinstance(again, DolphyError) else again.as_dict(),
        "document": ended,
    }
    return json.dumps(found, ensure_ascii=False, indent=2)
