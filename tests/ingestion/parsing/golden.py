"""Golden parses: what each file in tests/documents/ was parsed into, once a person had read it.

`python -m tests.ingestion.parsing.golden` writes those that are missing; with names of files, it
writes these anew. Read the difference before committing it.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from ingestion.parsing import Block, Limits, ParsedDocument, members, parse

DOCUMENTS = Path(__file__).parents[2] / "documents"
# OCR depends on the program that is installed; it has a test of its own.
LIMITS = Limits(ocr=False)


def files() -> list[Path]:
    """Every document that has, or should have, a golden parse."""
    found = (path for path in DOCUMENTS.glob("*/*") if path.parent.name != "refused")
    return sorted(path for path in found if not path.name.endswith((".golden.json", ".md5")))


def golden_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.golden.json")


def described(path: Path) -> dict[str, object]:
    """The parse of a file as JSON values, defaults left out so that it reads well."""
    data = path.read_bytes()
    if path.suffix == ".zip":
        parsed = {name: parse(content, name, limits=LIMITS) for name, content in members(data)}
        return {name: _document(document) for name, document in parsed.items()}
    return _document(parse(data, path.name, limits=LIMITS))


def _document(document: ParsedDocument) -> dict[str, object]:
    values: dict[str, object] = {
        "title": document.title,
        "report": document.report.as_dict(),
        "blocks": [_block(block) for block in document.blocks],
    }
    if document.pairs:
        values["pairs"] = [asdict(pair) for pair in document.pairs]
    return json.loads(json.dumps(values))


def _block(block: Block) -> dict[str, object]:
    return {key: value for key, value in asdict(block).items() if value}


def main(names: list[str]) -> None:
    for path in files():
        if path.name in names or not golden_of(path).exists():
            text = json.dumps(described(path), ensure_ascii=False, indent=1)
            golden_of(path).write_text(text + "\n", encoding="utf-8")
            print(golden_of(path).relative_to(DOCUMENTS))


if __name__ == "__main__":
    main(sys.argv[1:])
