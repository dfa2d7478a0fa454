"""An admin's own questions: a CSV of question and expected document, for one agent.

Columns `question` and `document` (its uri or its title), in any order; others are ignored. Comma,
semicolon or tab, in whatever charset the spreadsheet wrote.
"""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from dolphy.errors import DolphyError
from ingestion.models import Document
from ingestion.parsing.charset import decode
from retrieval.evaluation.dataset import Dataset, Problems, Question
from retrieval.evaluation.errors import BadDataset
from retrieval.question import checked
from tenants.models import Agent

Names = Mapping[str, set[str]]


def read(file: Path, agent: Agent) -> Dataset:
    """The questions with the uris that answer them; a question may stand on several lines.

    Raises `BadDataset` with every line and reason.
    """
    if not file.is_file():
        raise BadDataset(f"Missing: {file}.")
    problems = Problems()
    names = _documents(agent)
    expected: dict[str, set[str]] = {}
    for number, question, document in _rows(file):
        try:
            question = checked(question)
        except DolphyError as error:
            problems.add(file, number, error.message)
            continue
        uris = names.get(document, set())
        if len(uris) == 1:
            expected.setdefault(question, set()).update(uris)
        elif uris:
            problems.add(file, number, f"{len(uris)} documents are called {document!r}: give a uri")
        else:
            problems.add(file, number, f"{agent} has no enabled document {document!r}")
    problems.refuse()
    if not expected:
        raise BadDataset(f"{file} holds no questions.")
    questions = tuple(
        Question(f"q{number}", text, frozenset(uris))
        for number, (text, uris) in enumerate(expected.items(), 1)
    )
    return Dataset(f"{agent} {file.stem}", (), questions)


def _documents(agent: Agent) -> Names:
    """uri or title → the uris so named; a uri wins over another document's title."""
    rows = Document.objects.filter(
        tenant=agent.tenant_id, agent=agent, enabled=True, state=Document.State.READY
    ).values_list("uri", "title")
    names: dict[str, set[str]] = defaultdict(set)
    for uri, title in rows:
        names[title].add(uri)
    for uri, _ in rows:
        names[uri] = {uri}
    return names


def _rows(file: Path) -> list[tuple[int, str, str]]:
    """(line, question, document) of every row that is not blank."""
    text, _ = decode(file.read_bytes())
    header = text.split("\n", 1)[0]
    separator = max(",;\t", key=header.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        columns = [name.strip().lower() for name in next(reader, [])]
        places = [columns.index(name) for name in ("question", "document")]
    except ValueError:
        raise BadDataset(f"{file}:1: the columns must be question and document.") from None
    except csv.Error as error:
        raise BadDataset(f"{file}:{reader.line_num}: {error}.") from error
    found = []
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                cells = [row[place].strip() if place < len(row) else "" for place in places]
                found.append((reader.line_num, cells[0], cells[1]))
    except csv.Error as error:
        raise BadDataset(f"{file}:{reader.line_num}: {error}.") from error
    return found
