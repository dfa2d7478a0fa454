"""What is invented for ingestion is what it says it is: pages, documents, a PDF, a site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ingestion.parsing import BlockKind, parse
from retrieval.benchmark.ingesting.invent_pages import markdown, write_site
from retrieval.benchmark.ingesting.invent_pdf import pdf
from retrieval.benchmark.ingesting.site import pages_of, sitemap
from retrieval.benchmark.loading.invent import Inventor


@pytest.fixture
def inventor(monkeypatch: Any) -> Inventor:
    monkeypatch.setattr("retrieval.benchmark.loading.invent.SENTENCES", 200)
    return Inventor(8)


def test_a_page_has_text_lists_and_tables_of_its_own(inventor: Inventor, tmp_path: Path) -> None:
    write_site(tmp_path, 120, inventor)
    files = sorted(tmp_path.rglob("*.html"))
    assert len(files) == 120 and {file.parent.name for file in files} == {"000", "001"}
    parsed = parse(files[3].read_bytes(), files[3].name)
    kinds = [block.kind for block in parsed.blocks]
    assert kinds.count(BlockKind.TABLE) == 3 and kinds.count(BlockKind.LIST_ITEM) >= 15
    words = sum(len(block.all_text().split()) for block in parsed.blocks)
    assert 600 < words < 900


def test_no_two_pages_or_documents_are_alike(inventor: Inventor, tmp_path: Path) -> None:
    write_site(tmp_path, 30, inventor)
    assert len({file.read_bytes() for file in tmp_path.rglob("*.html")}) == 30
    assert len({markdown(inventor, 4) for _ in range(30)}) == 30


def test_the_pdf_has_so_many_pages_and_reads_back_in_turkish(inventor: Inventor) -> None:
    again = Inventor(8)
    parsed = parse(pdf(5, inventor), "long.pdf")
    report = parsed.report.as_dict()
    assert report["pages"] == 5 and report["pages_without_text"] == []
    assert report["garble_ratio"] == 0 and report["language"] == "tr"
    again.some_words(3)
    text = " ".join(block.all_text() for block in parsed.blocks)
    assert again.text() in " ".join(text.split())
    assert "Müşteri el kitabı" not in text  # the running header is furniture


def test_the_peak_of_parsing_is_that_of_a_process_of_its_own(
    inventor: Inventor, tmp_path: Path
) -> None:
    file = tmp_path / "short.pdf"
    file.write_bytes(pdf(3, inventor))
    weight = bytearray(600_000_000)  # held here, and no concern of the other process
    weight[::4096] = b"x" * len(weight[::4096])
    said = subprocess.run(
        [sys.executable, "-m", "retrieval.benchmark.ingesting.parse_alone", str(file)],
        check=True,
        capture_output=True,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "dolphy.settings"},
    ).stdout.decode()
    assert '"pages": 3' in said
    peak = float(said.split('"peak_mb": ')[1].split("}")[0])
    assert 20 < peak < 500


def test_a_sitemap_lists_pages_from_all_over_the_folder(tmp_path: Path) -> None:
    for number in range(100):
        (tmp_path / f"sayfa {number:03d}.html").write_text("x")
    (tmp_path / "style.css").write_text("x")
    some = pages_of(tmp_path, 10)
    assert some[0] == "/sayfa%20000.html" and some[-1] == "/sayfa%20090.html" and len(some) == 10
    assert len(pages_of(tmp_path, 1000)) == 100
    assert b"<loc>http://127.0.0.1:1/sayfa%20000.html</loc>" in sitemap(some, "127.0.0.1:1")
