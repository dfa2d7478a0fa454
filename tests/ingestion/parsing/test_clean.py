"""What leaves the package is clean: one form, no controls, no invisible marks."""

from __future__ import annotations

import unicodedata

import pytest

from ingestion.parsing import BlockKind, parse
from ingestion.parsing.clean import fold, keep_lines


def test_invisible_marks_and_controls_are_dropped() -> None:
    assert fold("a\0b\u202ec\u200bd\u00ade\x07f\ufeff") == "abcdef"


def test_decomposed_letters_are_composed() -> None:
    text = unicodedata.normalize("NFD", "Şüphesiz çiğ köfte")

    assert fold(text) == "Şüphesiz çiğ köfte"


def test_white_space_of_all_kinds_is_folded() -> None:
    assert fold(" bir\u00a0 iki\u2003\n\tüç\x0bdört ") == "bir iki üç dört"


def test_code_keeps_its_lines_and_indentation() -> None:
    assert keep_lines("\nif x:\n\ty()  \r\n") == "if x:\n    y()"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv"])
def test_no_nul_byte_or_surrogate_survives(name: str) -> None:
    text = "Başlık;Değer\n\nbir\u202e iki;üç\n".encode() + "\ud800".encode("utf-8", "surrogatepass")

    document = parse(text * 20, name)

    for block in document.blocks:
        assert not set("\0\u202e\ud800") & set(block.all_text())
    assert document.blocks[0].kind in BlockKind


@pytest.mark.parametrize("mark", ["", "\x1c", "\x1f", "\u00ad", "\u200b", "\u202e", "\ufeff"])
@pytest.mark.parametrize("blank", [" ", "\n", "\t", "\x0b", "\x85", "\u00a0", "\u2028", "\u3000"])
def test_one_line_of_text_is_the_same_with_any_blank_and_any_invisible_mark(
    mark: str, blank: str
) -> None:
    assert fold(f"{blank}I{mark}ğdır{blank}{blank}u\u0308lke{blank}") == "Iğdır ülke"
