"""A tiny dataset, made anew in a folder of the test's own; cached vectors lie there as well."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

CORPUS = [
    {"_id": "iade", "title": "İade", "text": "Ürünü on dört gün içinde iade edebilirsiniz."},
    {"_id": "kargo", "title": "Kargo", "text": "Ankara'ya kargo ücreti elli liradır."},
    {"_id": "magaza", "title": "Mağaza", "text": "Mağazalarımız hafta sonu açıktır."},
    {"_id": "taksit", "title": "", "text": "Kredi kartına dokuz taksit yapılır."},
]
QUERIES = [
    {"_id": "q1", "text": "İade süresi kaç gün?"},
    {"_id": "q2", "text": "Ankara'ya kargo ücreti ne kadar?"},
    {
        "_id": "q3",
        "text": "Peki hafta sonu?",
        "history": [{"role": "user", "content": "Mağaza açık mı?"}],
    },
    {"_id": "q4", "text": "Uzaya gönderim var mı?"},
]
QRELS = [("q1", "iade", 1), ("q2", "kargo", 1), ("q3", "magaza", 2), ("q4", "kargo", 0)]


class Folder:
    """A dataset folder whose files a test may spoil."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.corpus(CORPUS)
        self.queries(QUERIES)
        self.qrels(QRELS)

    def corpus(self, rows: Sequence[dict[str, Any]]) -> None:
        self.write("corpus.jsonl", *map(as_json, rows))

    def queries(self, rows: Sequence[dict[str, Any]]) -> None:
        self.write("queries.jsonl", *map(as_json, rows))

    def qrels(self, rows: Sequence[tuple[str, str, int]]) -> None:
        lines = ["\t".join(map(str, row)) for row in rows]
        self.write("qrels.tsv", "query-id\tcorpus-id\tscore", *lines)

    def write(self, name: str, *lines: str) -> None:
        (self.path / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")


def as_json(row: dict[str, Any]) -> str:
    return json.dumps(row, ensure_ascii=False)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "tiny")


@pytest.fixture
def another(tmp_path: Path) -> Callable[[str], Folder]:
    return lambda name: Folder(tmp_path / name)


@pytest.fixture(autouse=True)
def own_home(settings: Any, tmp_path: Path) -> Path:
    settings.HOME = tmp_path / "home"
    return settings.HOME
