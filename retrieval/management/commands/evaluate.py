"""`manage.py evaluate DATASET...`: how good the order of the evidence is, on known answers."""

from __future__ import annotations

import json
import os
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from django.core.management import BaseCommand, CommandError, call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from rich.console import Console

from dolphy import embedded, environment
from dolphy.errors import DolphyError
from retrieval.errors import UnknownFusion
from retrieval.evaluation import answerability_show, figures, own, plot, report, scratch, vary
from retrieval.evaluation import dataset as datasets
from retrieval.evaluation.answerability import Trial, foreign_to, tried
from retrieval.evaluation.answerability import figures as answerability_figures
from retrieval.evaluation.compare import circumstances, compare
from retrieval.evaluation.dataset import Dataset
from retrieval.evaluation.errors import BadDataset, BadSetting
from retrieval.evaluation.progress import bar
from retrieval.evaluation.run import Asker, Keep, Run
from retrieval.evaluation.show import comparison_lines, fusions_table, heading, slices_table
from retrieval.evaluation.slices import SLICES
from tenants.models import Agent, Fusion
from tenants.scope import agent_named

WIDTH = 160


class Command(BaseCommand):
    help = (
        "Measure the order of the evidence: on datasets in BEIR layout, each in a scratch tenant, "
        "or on an agent's own documents (--agent with --questions)."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        add = parser.add_argument
        add("datasets", nargs="*", type=Path, metavar="DATASET", help="folders in BEIR layout")
        add("--agent", metavar="TENANT/AGENT", help="ask this agent instead")
        add("--questions", type=Path, metavar="CSV", help="its questions: question, document")
        add("--fusion", default=",".join(Fusion.values), help="which, separated by commas")
        add("--set", action="append", default=[], metavar="NAME=VALUE", dest="values")
        add("--slices", action="store_true", help="ask again as people type")
        add("--limit", type=int, metavar="N", help="ask only the first N questions of each")
        add("--json", type=Path, metavar="FILE", help="write the figures")
        add("--traces", type=Path, metavar="FILE", help="write a trace a question, a line each")
        add("--report", type=Path, metavar="FILE", help="write the figures as Markdown")
        add("--answerability", action="store_true", help="ask again with the answers taken out")
        add("--plot", type=Path, metavar="SVG", help="draw the trade-off of --answerability")
        add("--compare", nargs=2, type=Path, metavar="JSON", help="what changed between two")

    def handle(self, *args: Any, **options: Any) -> None:
        width = None if self.stdout.isatty() else WIDTH
        self.console = Console(file=self.stdout, width=width)  # type: ignore[arg-type]
        try:
            if options["compare"]:
                self._compare(*options["compare"])
            elif options["answerability"]:
                self._answerability(options)
            else:
                self._evaluate(options)
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        except KeyboardInterrupt:
            raise CommandError("Stopped; the scratch tenant is removed.", returncode=130) from None

    def _compare(self, before: Path, after: Path) -> None:
        old, new = figures.read(before), figures.read(after)
        for line in circumstances(old, new):
            self.stdout.write(line)
        for found in compare(old, new):
            for line in comparison_lines(found):
                self.stdout.write(line)

    def _evaluate(self, options: dict[str, Any]) -> None:
        if options["plot"]:
            raise BadSetting("--plot draws the trade-off of --answerability.")
        fusions = _fusions(options["fusion"])
        values, plans = self._planned(options)
        runs: list[Run] = []
        with _traces(options["traces"]) as keep:
            for dataset, agent in plans:
                with ExitStack() as stack:
                    agent = vary.varied(agent or _scratch(stack, dataset, values), values)
                    ordered = _default_first(agent, fusions)
                    runs += self._run(agent, dataset, ordered, keep, options["slices"])
                _written(figures.figures(runs), options)

    def _planned(
        self, options: dict[str, Any]
    ) -> tuple[dict[str, Any], list[tuple[Dataset, Agent | None]]]:
        """Settings, and what is asked of whom; the database is ready for it."""
        values = vary.parsed(options["values"])
        if options["limit"] is not None and options["limit"] < 1:
            raise BadSetting("--limit is a whole number of at least 1.")
        plans = _plans(options)
        _prepare(options[name] for name in ("json", "traces", "report", "plot"))
        _ensure_tables()
        if left := scratch.remove_leftovers():
            self.console.print(f"{left} scratch tenants of stopped runs were removed.")
        return values, plans

    def _answerability(self, options: dict[str, Any]) -> None:
        if options["slices"] or options["traces"]:
            raise BadSetting("--answerability goes without --slices and --traces.")
        if options["report"]:
            report.check_keeps(options["report"], "answerability")
        values, plans = self._planned(options)
        every, trials = [dataset for dataset, _ in plans], list[Trial]()
        for dataset, agent in plans:
            with ExitStack() as stack:
                agent = vary.varied(agent or _scratch(stack, dataset, values), values)
                with bar(f"{dataset.name}: asking") as tell:
                    trials.append(tried(agent, dataset, foreign_to(dataset, every), tell))
            self._show(trials[-1])
            _drawn(trials, options)

    def _show(self, trial: Trial) -> None:
        self.console.print(answerability_show.heading(trial), style="bold", markup=False)
        for line in answerability_show.summary_lines(trial):
            self.console.print(line, markup=False, highlight=False)
        self.console.print(answerability_show.thresholds_table(trial))

    def _run(
        self, agent: Agent, dataset: Dataset, fusions: list[str], keep: Keep, slices: bool
    ) -> list[Run]:
        with bar(f"{dataset.name}: asking") as tell:
            runs = [Asker(agent, fusions, keep, tell).typed(dataset)]
        for name in SLICES if slices else ():
            with bar(f"{dataset.name}: {name}") as tell:
                runs.append(Asker(agent, fusions, keep, tell).sliced(runs[0], name))
        shown = [figures.of_run(run, runs[0]) for run in runs]
        self.console.print(heading(shown[0]), style="bold", markup=False)
        self.console.print(fusions_table(shown[0]))
        if len(shown) > 1:
            self.console.print(slices_table(shown))
        return runs


def _fusions(text: str) -> list[str]:
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if unknown := [name for name in names if name not in Fusion.values]:
        known = ", ".join(Fusion.values)
        raise UnknownFusion(f"Not {', '.join(unknown)}: choose from {known}.")
    if not names:
        raise UnknownFusion("Name at least one.")
    return names


def _default_first(agent: Agent, fusions: list[str]) -> list[str]:
    """The agent's own fusion is what the others are set against; without it, the first named."""
    return sorted(fusions, key=lambda name: name != agent.fusion)


def _ensure_tables() -> None:
    """The embedded database is made ready as `make demo` would; an operator migrates their own."""
    if _is_embedded():
        executor = MigrationExecutor(connection)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            call_command("migrate", verbosity=0, interactive=False)


def _is_embedded() -> bool:
    try:
        return embedded.current_stand().postgres.url() == environment.text("DATABASE_URL")
    except embedded.EmbeddedUnavailable:
        return False


def _prepare(files: Iterable[Path | None]) -> None:
    """Folders for what will be written: an evaluation must not end with nowhere to put it."""
    for file in filter(None, files):
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.open("a").close()
        except OSError as error:
            raise BadSetting(f"{file} cannot be written: {error.strerror}.") from error


def _plans(options: dict[str, Any]) -> list[tuple[Dataset, Agent | None]]:
    """What is asked of whom, all read and checked before anything is loaded."""
    name, questions, folders = options["agent"], options["questions"], options["datasets"]
    if bool(name) != bool(questions) or bool(name) == bool(folders):
        raise BadDataset("Name datasets, or an --agent with its --questions.")
    if name:
        agent = agent_named(name)
        if any(pair.startswith("language") for pair in options["values"]):
            raise BadSetting("The language of an agent with documents is part of its index.")
        plans: list[tuple[Dataset, Agent | None]] = [(own.read(questions, agent), agent)]
    else:
        plans = [(datasets.read(folder), None) for folder in folders]
        names = [dataset.name for dataset, _ in plans]
        if twice := {name for name in names if names.count(name) > 1}:
            raise BadDataset(f"Named twice: {', '.join(sorted(twice))}.")
    return [(_first(dataset, options["limit"]), agent) for dataset, agent in plans]


def _first(dataset: Dataset, limit: int | None) -> Dataset:
    return replace(dataset, questions=dataset.questions[:limit])


def _scratch(stack: ExitStack, dataset: Dataset, values: dict[str, Any]) -> Agent:
    with bar(f"{dataset.name}: embedding") as tell:
        return stack.enter_context(scratch.loaded(dataset, tell, values.get("language")))


@contextmanager
def _traces(file: Path | None) -> Iterator[Keep]:
    """What keeps traces, as JSON lines; nothing is kept without a file."""
    if file is None:
        yield lambda line: None
        return
    with file.open("w", encoding="utf-8") as stream:

        def keep(line: dict[str, Any]) -> None:
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")

        yield keep


def _written(found: figures.Figures, options: dict[str, Any]) -> None:
    """After every dataset, so that a run which is stopped keeps what it has measured."""
    if options["json"]:
        figures.written(options["json"], found)
    if options["report"]:
        report.write(options["report"], found, _command(options))


def _drawn(trials: list[Trial], options: dict[str, Any]) -> None:
    """As `_written`, for answerability."""
    found, picture, page = answerability_figures(trials), options["plot"], options["report"]
    if options["json"]:
        figures.written(options["json"], found)
    if picture:
        picture.write_text(plot.svg(trials), encoding="utf-8")
    if page:
        beside = Path(os.path.relpath(picture, page.parent)) if picture else None
        text = answerability_show.markdown(trials, found["measured_at"][:10], beside)
        report.keep(page, "answerability", text)


def _command(options: dict[str, Any]) -> str:
    """The command as another would type it, with the names of the sets and no paths."""
    words = ["python manage.py evaluate"]
    words += [f"--agent {options['agent']}"] if options["agent"] else ["DATASET..."]
    words += [f"--set {pair}" for pair in options["values"]]
    words += ["--slices"] if options["slices"] else []
    words += [f"--limit {options['limit']}"] if options["limit"] else []
    return " ".join([*words, "--report FILE"])
