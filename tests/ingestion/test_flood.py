"""A flood of combining marks is bounded before it is sorted; what people write is not touched."""

from __future__ import annotations

import unicodedata

import pytest

from ingestion.analyse import analyse_passage
from ingestion.analysis.flood import MOST_MARKS, bounded_marks, normal
from ingestion.parsing import parse

FLOODS = {
    "accents": "e" + "\u0301\u0323" * 1_000_000,
    "double accents": "e" + "\u0344" * 1_000_000,
    "supplement": "e" + "\u1dc4\u0323" * 1_000_000,
    "Thai": "ก" + "\u0e38\u0e48" * 1_000_000,
    "Hebrew": "א" + "\u05b0\u05b4" * 1_000_000,
    "beyond the first plane": "e" + "\U0001d165\U0001d16d\u0323" * 600_000,
}


@pytest.mark.parametrize("name", FLOODS)
def test_a_flood_of_marks_is_cut(name: str) -> None:
    text = f"İade {FLOODS[name]} süresi"
    short = text[: 6 + MOST_MARKS] + " süresi"
    assert bounded_marks(text) == short
    assert normal(text) == unicodedata.normalize("NFC", short)
    assert "suresi" in analyse_passage(text).plain
    assert parse(text.encode(), "a.txt").blocks[0].text == normal(normal(text))


@pytest.mark.parametrize(
    "text",
    [
        unicodedata.normalize("NFD", "Şüphesiz çiğ köfte Iğdır"),
        "नमस्ते दुनिया " * 20,
        "ά" * 100,
        "한국어문장" * 20,
        "日本語の文章がここにあります" * 20,
        "שָׁלוֹם עֲלֵיכֶם",
        "\u0e44\u0e17\u0e22" * 40,
        "Z̴̢̛̫a̵̧͓l̸̡̛g̷̨o̸",
        "👩‍👩‍👧‍👦" * 40,
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert bounded_marks(text) == text
    assert normal(text) == unicodedata.normalize("NFC", text)
