"""Answerability for a terminal, and as the Markdown of docs/results.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean

from rich.table import Column, Table

from retrieval.evaluation.answerability import ANSWERED, Tradeoff, Trial, cosine, coverage
from retrieval.evaluation.report import table

HEADER = ("answered", "refused, removed", "refused, foreign")


def heading(trial: Trial) -> str:
    about = trial.about
    return (
        f"{trial.dataset}, answerability: {len(trial.asked)} questions asked twice, "
        f"{len(trial.foreign)} foreign ones, {about['passages']} passages in {about['language']}"
    )


def summary_lines(trial: Trial) -> Iterator[str]:
    """The rule, the areas, and the threshold that these questions would suggest."""
    yield f"rule: {rule_of(trial)}"
    yield f"AUC of cosine / coverage / score, removed: {_three(trial, 'removed')}"
    yield f"AUC of cosine / coverage / score, foreign: {_three(trial, 'foreign')}"
    suggested = trial.at(trial.suggested)
    yield f"{ANSWERED:.0%} answered from {suggested.threshold:.3f} on: {cell(suggested)}"


def thresholds_table(trial: Trial) -> Table:
    shown = Table("threshold", *(Column(name, justify="right") for name in HEADER), "")
    for threshold in trial.thresholds():
        found = trial.at(threshold)
        force = is_in_force(trial, threshold)
        values = (number(v, 2) for v in (found.answered, found.removed, found.foreign))
        style = "bold" if force else None
        shown.add_row(f"{threshold:.3f}", *values, "in force" if force else "", style=style)
    return shown


def rule_of(trial: Trial) -> str:
    """The rule in force in words."""
    if trial.rule is None:
        return "none measured for this space; judged by the cosine alone"
    return f"cosine + {trial.rule.coverage_weight:g} · coverage ≥ {trial.rule.threshold:g}"


def is_in_force(trial: Trial, threshold: float) -> bool:
    return trial.rule is not None and threshold == trial.rule.threshold


def markdown(trials: Sequence[Trial], measured_on: str, plot: Path | None) -> str:
    """What goes between the keep marks: at least one trial; `plot` relative to the report."""
    rules = dict.fromkeys(rule_of(trial) for trial in trials)
    lines = [
        f"Measured on {measured_on} by `python manage.py evaluate DATASET... --answerability`.",
        f"Rule: {'; '.join(rules)}.",
        "",
        "Each question is asked as it is, and again with the documents that answer it disabled",
        "(*removed*: their neighbours stay, and some answer as well). *Foreign* questions are",
        "those of the other sets, of the same language where there is one, else of another.",
        "Cosine and coverage are those of the first evidence, right or wrong. AUC: how often a",
        "question with its answer scores above one without.",
        "",
        *_areas(trials),
        "By threshold: answered when answerable / refused, removed / refused, foreign.",
        "",
        *_thresholds(trials),
    ]
    if plot:
        lines += [f"![Answered when answerable against refused when removed]({plot})", ""]
    return "\n".join(lines)


def _areas(trials: Sequence[Trial]) -> Iterator[str]:
    yield "Area under the curve, cosine alone / coverage alone / both:"
    yield ""
    header = ["set", "questions", "foreign", "AUC, removed", "AUC, foreign"]
    wanted = f"{ANSWERED:.0%} answered from"
    rows = (
        [
            trial.dataset,
            f"{len(trial.asked):,}",
            f"{len(trial.foreign):,}",
            *(_three(trial, side) for side in ("removed", "foreign")),
            f"{trial.suggested:.3f}",
        ]
        for trial in trials
    )
    yield from table([*header, wanted], rows)


def _three(trial: Trial, side: str) -> str:
    by = (trial.areas(cosine), trial.areas(coverage), trial.areas())
    return " / ".join(number(found[side]) for found in by)


def _thresholds(trials: Sequence[Trial]) -> Iterator[str]:
    wanted = sorted({one for trial in trials for one in trial.thresholds()})
    alike = _alike(trials)
    yield from table(
        ["threshold", *(trial.dataset for trial in trials), *(f"mean of {name}" for name in alike)],
        (_row(trials, alike, threshold) for threshold in wanted),
    )


def _alike(trials: Sequence[Trial]) -> dict[str, list[Trial]]:
    """The sets of each language that has several: only these have a mean worth reading."""
    by: dict[str, list[Trial]] = {}
    for trial in trials:
        by.setdefault(trial.about["language"], []).append(trial)
    return {language: found for language, found in by.items() if len(found) > 1}


def _row(
    trials: Sequence[Trial], alike: Mapping[str, Sequence[Trial]], threshold: float
) -> list[str]:
    force = any(is_in_force(trial, threshold) for trial in trials)
    name = f"**{threshold:.2f}**, in force" if force else f"{threshold:.2f}"
    means = (mean_of([trial.at(threshold) for trial in found]) for found in alike.values())
    return [name, *(cell(trial.at(threshold)) for trial in trials), *map(cell, means)]


def mean_of(found: Sequence[Tradeoff]) -> Tradeoff:
    """Every set counts the same; sets without foreign questions do not count there."""
    foreign = [one.foreign for one in found if one.foreign is not None]
    return Tradeoff(
        found[0].threshold,
        mean(one.answered for one in found),
        mean(one.removed for one in found),
        mean(foreign) if foreign else None,
    )


def cell(found: Tradeoff) -> str:
    return " / ".join(number(v, 2) for v in (found.answered, found.removed, found.foreign))


def number(value: float | None, digits: int = 3) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
