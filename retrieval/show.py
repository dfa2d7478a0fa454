"""Evidence for a terminal: a table that a person can read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from retrieval.retrieve import Retrieval

SNIPPET = 180
WIDTH = 132  # where the output is no terminal


def terminal(output: Any) -> Console:
    """A console on a command's output."""
    is_terminal = bool(getattr(output, "isatty", lambda: False)())
    return Console(file=output, width=None if is_terminal else WIDTH)


def evidence_table(retrieval: Retrieval, *, rows: int | None = None) -> Table:
    """Rank, score with its parts, document, heading and snippet."""
    table = Table(show_lines=False, expand=True)
    for name, options in COLUMNS.items():
        table.add_column(name, **options)
    roots = [root["root"] for root in retrieval.trace["roots"]]
    for item in retrieval.evidence[:rows]:
        table.add_row(
            str(item.rank),
            f"{item.score:.3f}",
            f"{item.semantic:.2f}",
            f"{item.lexical:.2f}",
            escape(item.document),
            escape(" › ".join(item.heading) + (f" (p. {item.page})" if item.page else "")),
            snippet(item.text, roots),
        )
    return table


COLUMNS: dict[str, dict[str, Any]] = {
    "#": {"justify": "right", "no_wrap": True},
    "score": {"justify": "right", "no_wrap": True},
    "sem": {"justify": "right", "no_wrap": True},
    "lex": {"justify": "right", "no_wrap": True},
    "document": {"ratio": 2, "overflow": "fold"},
    "heading": {"ratio": 2, "overflow": "fold"},
    "passage": {"ratio": 5},
}


def reading(record: Mapping[str, Any]) -> Iterator[str]:
    """How the question of a trace was read, where that is not as typed."""
    if record.get("slips"):
        yield f"slips put right: {slips_said(record)}"
    if record.get("embedded", record["question"]) != record["question"]:
        yield f"read as: {record['embedded']}"


def judgement(record: Mapping[str, Any]) -> str:
    """Whether the evidence of a trace answers, and by which numbers."""
    judged = record.get("answering") or {}
    if "score" not in judged:
        nothing = judged.get("answers") is False
        return "no: there is none" if nothing else "not measured for this embedding space"
    return (
        f"{'yes' if judged['answers'] else 'no'}: the first evidence's similarity "
        f"{judged['cosine']:.3f} and coverage {judged['coverage']:.2f} make {judged['score']:.3f}, "
        f"{judged['threshold']:.2f} is wanted"
    )


def slips_said(record: Mapping[str, Any]) -> str:
    """The words that were read as others; traces from before there were any say none."""
    slips = [f"{slip['typed']} read as {slip['meant']}" for slip in record.get("slips") or ()]
    return ", ".join(slips) or "none"


def snippet(text: str, roots: list[str]) -> Text:
    """The part of the passage around the first of the question's words, these in bold."""
    flat = " ".join(text.split())
    starts = [root[: max(4, len(root) - 3)] for root in roots if len(root) > 2]
    pattern = "|".join(re.escape(start) for start in starts)
    first = re.search(pattern, flat, re.IGNORECASE) if pattern else None
    start = max(0, first.start() - 60) if first else 0
    start = flat.rfind(" ", 0, start) + 1 if start else 0
    cut = flat[start : start + SNIPPET]
    shown = Text(("…" if start else "") + cut + ("…" if start + SNIPPET < len(flat) else ""))
    if pattern:
        shown.highlight_regex(rf"(?i)\b(?:{pattern})\w*", "bold")
    return shown


def candidates_table(trace: dict[str, Any]) -> Table:
    """The whole pool: what each branch thought of each candidate, and what became of it."""
    table = Table(box=None, pad_edge=False)
    for name in ("#", "rank", "verdict", "score", "sem", "lex", "cosine", "by sem", "by lex"):
        table.add_column(name, no_wrap=True)
    table.add_column("passage", overflow="fold", min_width=24)
    table.add_column("words it holds", overflow="fold")
    names = [root["root"] for root in trace["roots"]]
    for row in trace["candidates"]:
        table.add_row(
            str(row["place"]),
            str(row["rank"] or "–"),
            row["verdict"],
            f"{row['score']:.3f}",
            f"{row['semantic']:.2f}",
            f"{row['lexical']:.2f}",
            f"{row['similarity']:.3f}",
            str(row["semantic_rank"] or "–"),
            str(row["lexical_rank"] or "–"),
            escape(f"{row['uri']}#{row['position']}"),
            escape(", ".join(names[number] for number in row["roots"])),
        )
    return table
