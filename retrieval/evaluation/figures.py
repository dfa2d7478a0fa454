"""Figures: what a run comes to, as the JSON that `--json` writes and `--compare` reads."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from dolphy import embedding
from ingestion.analyse import ANALYSER_VERSION
from retrieval.evaluation import metrics
from retrieval.evaluation.bootstrap import interval, paired
from retrieval.evaluation.errors import BadFigures
from retrieval.evaluation.run import Run
from retrieval.evaluation.slices import AS_TYPED

MRR = metrics.NAMES[0]
Figures = dict[str, Any]


def figures(runs: Sequence[Run]) -> Figures:
    """`{"runs": [...]}` with when and in which space it was measured.

    A fusion's `against_default` and, in a slice, `against_as_typed` are paired differences of
    MRR@10; `results` holds every question's rank under every fusion.
    """
    typed = {run.dataset: run for run in runs if run.slice == AS_TYPED}
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "space": str(embedding.configured().space),
        "analyser": ANALYSER_VERSION,
        "runs": [of_run(run, typed[run.dataset]) for run in runs],
    }


def of_run(run: Run, typed: Run) -> Figures:
    return {
        "dataset": run.dataset,
        "questions": len(run.asked),
        "slice": run.slice,
        "skipped": run.skipped,
        "changed": run.changed,
        "default": run.default,
        **run.about,
        "fusions": {fusion: _of_fusion(run, typed, fusion) for fusion in run.fusions},
        "results": {item.question.id: _result(item) for item in run.asked},
    }


def _of_fusion(run: Run, typed: Run, fusion: str) -> Figures:
    values = run.values(fusion, MRR)
    times = [item.answers[fusion].ms for item in run.asked]
    found: Figures = {name: float(np.mean(run.values(fusion, name))) for name in metrics.NAMES}
    found["ci95"] = list(interval(values))
    found["p50_ms"], found["p95_ms"] = (float(np.percentile(times, q)) for q in (50, 95))
    if fusion != run.default:
        found["against_default"] = paired(values, run.values(run.default, MRR)).as_dict()
    if run.slice != AS_TYPED:
        found["against_as_typed"] = paired(values, typed.values(fusion, MRR)).as_dict()
    return found


def _result(item: Any) -> Figures:
    return {
        "question": item.text,
        "relevant": sorted(item.question.relevant),
        "ranks": {fusion: answer.rank for fusion, answer in item.answers.items()},
        "fate": item.fate,
    }


def written(file: Path, found: Figures) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read(file: Path) -> Figures:
    """What `written` wrote. Raises `BadFigures`."""
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
        for run in found["runs"]:
            for result in run["results"].values():
                result["ranks"].items(), result["question"]
            run["dataset"], run["slice"], run["default"], run["fusions"]
    except OSError as error:
        raise BadFigures(f"{file}: {error.strerror}.") from error
    except ValueError as error:
        raise BadFigures(f"{file} is not JSON: {error}.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise BadFigures(f"{file}: {error!r} is missing or of another kind.") from error
    return found
