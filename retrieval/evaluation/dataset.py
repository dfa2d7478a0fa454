"""Datasets: questions whose answers are known, read and checked before anything is loaded.

A folder in BEIR layout holds `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`,
`text`, perhaps `history`) and `qrels.tsv` (`query-id`, `corpus-id`, `score`; above 0 is relevant).
Whatever is wrong is collected with its file, line and reason, missing files too, and then all of
it is refused together: a half-read dataset would measure something else. Judgements are held
against passages and questions only when the files of those are without a fault, so that a broken
line of the corpus is not told again with every judgement that names it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dolphy.errors import DolphyError
from retrieval.evaluation.errors import BadDataset
from retrieval.question import checked

SHOWN = 20  # of each file
LONGEST_ID = 1000
QRELS_HEADER = ["query-id", "corpus-id", "score"]


@dataclass(frozen=True)
class Row:
    """One row of a corpus: a document of one passage."""

    id: str
    title: str
    text: str


@dataclass(frozen=True)
class Question:
    """A question and the uris of the documents that answer it."""

    id: str
    text: str
    relevant: frozenset[str]
    history: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True)
class Dataset:
    """`skipped` counts the questions that nothing in the corpus is known to answer."""

    name: str
    corpus: tuple[Row, ...]
    questions: tuple[Question, ...]
    skipped: int = 0


@dataclass
class Problems:
    """What is wrong with each file, as `file:line: reason`."""

    found: dict[Path, list[str]] = field(default_factory=dict)

    def add(self, file: Path, line: int, reason: str) -> None:
        self.found.setdefault(file, []).append(f"{file}:{line}: {reason}")

    def missing(self, file: Path) -> None:
        self.found[file] = [f"Missing: {file}"]

    def refuse(self) -> None:
        """Raises `BadDataset` if anything was added."""
        shown = [line for file, faults in self.found.items() for line in _first(file, faults)]
        if shown:
            raise BadDataset("\n" + "\n".join(shown))


def _first(file: Path, faults: list[str]) -> list[str]:
    rest = len(faults) - SHOWN
    return faults[:SHOWN] + ([f"… and {rest} more in {file}"] if rest > 0 else [])


def read(folder: Path) -> Dataset:
    """A checked dataset. Raises `BadDataset` with every file, line and reason."""
    if not folder.is_dir():
        raise BadDataset(f"There is no folder {folder}.")
    files = [folder / name for name in ("corpus.jsonl", "queries.jsonl", "qrels.tsv")]
    problems = Problems()
    corpus = _corpus(files[0], problems)
    queries = _queries(files[1], problems)
    passages = None if files[0] in problems.found else set(corpus)
    asked = None if files[1] in problems.found else set(queries)
    relevant = _qrels(files[2], passages, asked, problems)
    problems.refuse()
    questions = [
        Question(key, row["text"], frozenset(relevant[key]), tuple(row.get("history") or ()))
        for key, row in queries.items()
        if relevant.get(key)
    ]
    if not questions:
        raise BadDataset(f"{files[2]} names no relevant passage for any question.")
    skipped = len(queries) - len(questions)
    return Dataset(folder.resolve().name, tuple(corpus.values()), tuple(questions), skipped)


def lines(file: Path, problems: Problems) -> Iterator[tuple[int, str]]:
    """(line number, text) of every line that is UTF-8 and not blank; none of a missing file."""
    if not file.is_file():
        problems.missing(file)
        return
    with file.open("rb") as stream:
        for number, raw in enumerate(stream, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
            except UnicodeDecodeError as error:
                problems.add(file, number, f"is not UTF-8 at byte {error.start + 1}")
                continue
            if line.strip():
                yield number, line


def _corpus(file: Path, problems: Problems) -> dict[str, Row]:
    return {
        key: Row(key, row.get("title") or "", row["text"])
        for key, _, row in _rows(file, problems, ("title",))
    }


def _queries(file: Path, problems: Problems) -> dict[str, dict[str, Any]]:
    found = {}
    for key, number, row in _rows(file, problems, ()):
        try:
            checked(row["text"])
        except DolphyError as error:
            problems.add(file, number, f"{key}: {error.message}")
            continue
        if not _is_history(row.get("history")):
            problems.add(file, number, f"{key}: history is not a list of turns")
        found[key] = row
    return found


def _is_history(history: Any) -> bool:
    return history is None or (
        isinstance(history, list) and all(isinstance(turn, dict) for turn in history)
    )


def _rows(
    file: Path, problems: Problems, optional: tuple[str, ...]
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """(id, line number, row) of every good line; `optional` names fields that may be text."""
    lines_of: dict[str, int] = {}
    for number, line in lines(file, problems):
        row = _object(line)
        if isinstance(row, str):
            problems.add(file, number, row)
        elif reason := _fault(row, optional):
            problems.add(file, number, reason)
        elif (key := row["_id"]) in lines_of:
            problems.add(file, number, f"_id {key!r} stands on line {lines_of[key]} already")
        else:
            lines_of[key] = number
            yield key, number, row
    if not lines_of and file not in problems.found:
        problems.add(file, 1, "the file holds no rows")


def _object(line: str) -> dict[str, Any] | str:
    """The object of a line of JSON, or the reason why there is none."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:  # its line is always 1, and the file's is told
        return f"is not JSON: {error.msg} at column {error.colno}"
    except RecursionError:
        return "is not JSON that can be read: nested too deeply"
    return row if isinstance(row, dict) else "is not a JSON object"


def _fault(row: dict[str, Any], optional: tuple[str, ...]) -> str:
    key, text = row.get("_id"), row.get("text")
    if not isinstance(key, str) or not key.strip() or len(key) > LONGEST_ID:
        return f"_id must be text of 1 to {LONGEST_ID} characters"
    if not isinstance(text, str):
        return f"{key!r}: text is missing or is not text"
    if not text.strip():
        return f"{key!r}: text is empty"
    for name in optional:
        if not isinstance(row.get(name) or "", str):
            return f"{key!r}: {name} is not text"
    values = (key, text, *(row.get(name) or "" for name in optional))
    if any("\0" in value or _has_lone_surrogate(value) for value in values):
        return f"{key!r}: holds characters that are not text, such as NUL"
    return ""


def _has_lone_surrogate(text: str) -> bool:
    return any(0xD800 <= ord(letter) <= 0xDFFF for letter in text)


def _qrels(
    file: Path, passages: set[str] | None, queries: set[str] | None, problems: Problems
) -> dict[str, set[str]]:
    """Query id → relevant corpus ids. What is not known (None) is not held against."""
    relevant: dict[str, set[str]] = {}
    lines_of: dict[tuple[str, str], int] = {}
    for order, (number, line) in enumerate(lines(file, problems)):
        cells = [cell.strip() for cell in line.split("\t")]
        if order == 0:
            if cells != QRELS_HEADER:
                problems.add(file, number, f"the columns must be {', '.join(QRELS_HEADER)}")
                return relevant
        elif reason := _qrel_fault(cells, passages, queries):
            problems.add(file, number, reason)
        elif (pair := (cells[0], cells[1])) in lines_of:
            problems.add(file, number, f"the same pair stands on line {lines_of[pair]}")
        else:
            lines_of[pair] = number
            if int(cells[2]) > 0:
                relevant.setdefault(cells[0], set()).add(cells[1])
    if not lines_of and file not in problems.found:
        problems.add(file, 1, "the file holds no judgements")
    return relevant


def _qrel_fault(cells: list[str], passages: set[str] | None, queries: set[str] | None) -> str:
    if len(cells) != len(QRELS_HEADER):
        return f"has {len(cells)} columns instead of 3, separated by tabs"
    if queries is not None and cells[0] not in queries:
        return f"query {cells[0]!r} is not in queries.jsonl"
    if passages is not None and cells[1] not in passages:
        return f"passage {cells[1]!r} is not in corpus.jsonl"
    if not cells[2].lstrip("-").isascii() or not cells[2].lstrip("-").isdigit():
        return f"score {cells[2]!r} is not a whole number"
    return ""
