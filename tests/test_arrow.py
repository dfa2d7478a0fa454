"""Dependencies point one way: retrieval → ingestion → tenants → dolphy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MAY_IMPORT = {
    "retrieval": {"retrieval", "ingestion", "tenants", "dolphy"},
    "ingestion": {"ingestion", "tenants", "dolphy"},
    "tenants": {"tenants", "dolphy"},
    "dolphy": {"dolphy"},
}
KNOW_THE_APPS = {"dolphy/settings.py", "dolphy/urls.py", "dolphy/celery.py"}


def sources() -> list[Path]:
    return sorted(path for app in MAY_IMPORT for path in (ROOT / app).rglob("*.py"))


def imported(path: Path) -> Iterator[str]:
    """Top-level packages that a module imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_side_of_the_arrow(path: Path) -> None:
    name = path.relative_to(ROOT).as_posix()
    if name in KNOW_THE_APPS:
        return
    ours = set(imported(path)) & MAY_IMPORT.keys()
    assert ours <= MAY_IMPORT[name.split("/")[0]]


def test_the_arrow_test_sees_imports(tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text("def f():\n    from retrieval.retrieve import retrieve\n")
    assert list(imported(module)) == ["retrieval"]
