"""Slices spell a question as people type it."""

from __future__ import annotations

import pytest

from retrieval.evaluation.slices import SLICES, with_a_slip

QUESTION = "Ankara’daki İŞLEM ücretini nasıl öğrenirim, kâğıtla mı?"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("no diacritics", "Ankara’daki ISLEM ucretini nasil ogrenirim, kagitla mi?"),
        ("capitals", "ANKARA’DAKİ İŞLEM ÜCRETİNİ NASIL ÖĞRENİRİM, KÂĞITLA MI?"),
        ("capitals, no diacritics", "ANKARA’DAKI ISLEM UCRETINI NASIL OGRENIRIM, KAGITLA MI?"),
        ("no apostrophes", "Ankaradaki İŞLEM ücretini nasıl öğrenirim, kâğıtla mı?"),
    ],
)
def test_a_slice_spells_a_question(name: str, expected: str) -> None:
    assert SLICES[name](QUESTION, "tr") == expected


def test_english_capitals_have_no_dotted_i() -> None:
    assert SLICES["capitals"]("delivery time", "en") == "DELIVERY TIME"


WORDS = ["süresi", "mağaza", "kargo", "öğrenirim", "aaaaaa"]


@pytest.mark.parametrize("word", WORDS)
def test_a_slip_changes_one_place_of_a_longer_word(word: str) -> None:
    question = f"bu ne {word} mi?"
    slipped = with_a_slip(question, "tr")
    before, typed, after = slipped[:6], slipped[6:-4], slipped[-4:]
    assert (before, after) == ("bu ne ", " mi?")
    assert typed != word
    assert typed[0] == word[0]
    assert abs(len(typed) - len(word)) <= 1
    if len(typed) == len(word):
        assert sorted(typed) == sorted(word)


def test_all_kinds_of_slip_occur() -> None:
    lengths = {len(with_a_slip(f"süresi {number}", "tr")) - 8 for number in range(100, 200)}
    assert {len("süresi 100") + change - 8 for change in (-1, 0, 1)} == lengths


def test_a_slip_is_the_same_each_time() -> None:
    assert with_a_slip(QUESTION, "tr") == with_a_slip(QUESTION, "tr")


def test_a_question_without_a_longer_word_stays_as_it_is() -> None:
    assert with_a_slip("ne bu 12345?", "tr") == "ne bu 12345?"
