"""Where we lose: what a run's own figures say against the default, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from retrieval.evaluation import metrics
from retrieval.evaluation.metrics import HITS, RECALL_DEPTH
from retrieval.evaluation.slices import AS_TYPED
from retrieval.fates import NOT_IN_POOL

Figures = Mapping[str, Any]
EVIDENCE = HITS[-1]
PLACES = (
    "first",
    f"2 to {EVIDENCE}",
    f"{EVIDENCE + 1} to {RECALL_DEPTH}",
    f"in the pool, beyond {RECALL_DEPTH}",
    "dropped as a duplicate",
    "not in the pool",
)


def places(run: Figures) -> Counter[str]:
    """How many questions have their answer where, under the default; the keys are `PLACES`."""
    return Counter(_place(result, run["default"]) for result in run["results"].values())


def _place(result: Figures, default: str) -> str:
    rank, verdict = result["ranks"][default], result["fate"]["verdict"]
    if rank == 1:
        return PLACES[0]
    if rank is not None:
        return PLACES[1] if rank <= EVIDENCE else PLACES[2]
    return {"duplicate": PLACES[4], NOT_IN_POOL: PLACES[5]}.get(verdict, PLACES[3])


def losses(run: Figures) -> Iterator[str]:
    """Sentences about one run; none when there is nothing to say against it."""
    if run["slice"] == AS_TYPED:
        yield from _to_other_fusions(run)
        yield from _by_a_branch(run)
    else:
        yield from _by_spelling(run)


def _to_other_fusions(run: Figures) -> Iterator[str]:
    default = run["fusions"][run["default"]]
    for fusion, found in run["fusions"].items():
        better = [
            f"{name} {found[name]:.3f} against {default[name]:.3f}"
            for name in metrics.NAMES
            if found[name] > default[name] + 5e-4
        ]
        if better:
            verdict = found["against_default"]["verdict"]
            yield f"`{fusion}` is ahead in {', '.join(better)}; in {metrics.NAMES[0]} a {verdict}."


def _by_a_branch(run: Figures) -> Iterator[str]:
    """Answers that a branch had in first place and the fused order has not."""
    missed = [
        result["fate"] for result in run["results"].values() if result["ranks"][run["default"]] != 1
    ]
    if not missed:
        return
    semantic = sum(fate["semantic_rank"] == 1 for fate in missed)
    lexical = sum(fate["lexical_rank"] == 1 for fate in missed)
    both = sum(fate["semantic_rank"] == fate["lexical_rank"] == 1 for fate in missed)
    neither = len(missed) - semantic - lexical + both
    yield (
        f"{len(missed)} of {run['questions']} answers are not first: the semantic branch had "
        f"{semantic} of them first, the lexical branch {lexical}, neither {neither}."
    )


def _by_spelling(run: Figures) -> Iterator[str]:
    change = run["fusions"][run["default"]]["against_as_typed"]
    if change["verdict"] == "loss":
        low, high = change["ci95"]
        yield (
            f"{run['slice']}: {change['difference']:+.3f} [{low:+.3f}, {high:+.3f}], "
            f"{change['losses']} questions worse and {change['wins']} better."
        )
