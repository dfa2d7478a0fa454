"""Every file in tests/documents/ is parsed as it was when a person checked it."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from .golden import described, files, golden_of


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.name}")
def test_a_document_is_parsed_as_its_golden_file_says(path: Path) -> None:
    golden = json.loads(golden_of(path).read_text(encoding="utf-8"))

    assert described(path) == golden


def test_every_kind_of_file_has_three_golden_documents() -> None:
    kinds = Counter(path.parent.name for path in files())

    assert {kind: count for kind, count in kinds.items() if count < 3} == {}
    assert len(kinds) == 14
