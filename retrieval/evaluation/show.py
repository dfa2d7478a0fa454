"""Evaluations for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.table import Column, Table

from retrieval.evaluation import metrics
from retrieval.evaluation.compare import Comparison
from retrieval.evaluation.slices import AS_TYPED

MRR = metrics.NAMES[0]
Figures = Mapping[str, Any]


def heading(run: Figures) -> str:
    parts = [f"{run['questions']} questions, {run['passages']} passages in {run['language']}"]
    if run["slice"] != AS_TYPED:
        parts.append(f"{run['changed']} of them spelled otherwise")
    if run["skipped"]:
        parts.append(f"{run['skipped']} more have no known answer and are skipped")
    return f"{run['dataset']}, {run['slice']}: " + ", ".join(parts)


def fusions_table(run: Figures) -> Table:
    """A row a fusion; the last column sets it against the default."""
    table = Table("fusion", *_right(MRR, "95% interval", *metrics.NAMES[1:], "p50 ms", "p95 ms"))
    table.add_column(f"against {run['default']}")
    for fusion, found in run["fusions"].items():
        values = (f"{found[name]:.3f}" for name in metrics.NAMES[1:])
        table.add_row(
            fusion,
            f"{found[MRR]:.3f}",
            span(found["ci95"]),
            *values,
            f"{found['p50_ms']:.1f}",
            f"{found['p95_ms']:.1f}",
            against(found.get("against_default")),
        )
    return table


def slices_table(runs: Sequence[Figures]) -> Table:
    """MRR of every slice under every fusion, and what the default loses by it."""
    default, fusions = runs[0]["default"], list(runs[0]["fusions"])
    table = Table("slice", *_right("changed", *(f"{fusion} {MRR}" for fusion in fusions)))
    table.add_column(f"{default} against as typed")
    for run in runs:
        table.add_row(
            run["slice"],
            str(run["changed"]) if run["slice"] != AS_TYPED else "",
            *(f"{run['fusions'][fusion][MRR]:.3f}" for fusion in fusions),
            against(run["fusions"][default].get("against_as_typed")),
        )
    return table


def comparison_lines(found: Comparison) -> Iterator[str]:
    """The summary, then every question that changed, the greatest loss first."""
    apart = f", {found.apart} not in both" if found.apart else ""
    yield (
        f"{found.dataset}, {found.slice}, {found.fusion}: {found.questions} questions{apart}, "
        f"{MRR} {against(found.paired.as_dict())}"
    )
    for change in found.changes:
        yield f"  {change.query}: {change.what}: {change.question}"


def against(found: Figures | None) -> str:
    """`+0.012 [+0.003, +0.021] win (30 won, 12 lost, 222 tied)`."""
    if not found:
        return ""
    low, high = found["ci95"]
    return (
        f"{found['difference']:+.3f} [{low:+.3f}, {high:+.3f}] {found['verdict']} "
        f"({found['wins']} won, {found['losses']} lost, {found['ties']} tied)"
    )


def span(ci95: list[float]) -> str:
    return f"{ci95[0]:.3f}–{ci95[1]:.3f}"


def _right(*names: str) -> Iterator[Any]:
    return (Column(name, justify="right") for name in names)
