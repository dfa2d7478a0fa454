"""Blocks become passages that can be cited and read alone."""

from __future__ import annotations

import pytest

from ingestion.parsing import Block, BlockKind, ParsedDocument, Report
from ingestion.segment import TABLE_TARGET, TARGET, Segment, segment, sentences

LIMIT = 512


def words(text: str) -> int:
    return len(text.split())


def cut(*blocks: Block, title: str = "Yardım", limit: int = LIMIT) -> tuple[Segment, ...]:
    report = Report("text/plain", "utf-8", None, (), 1, 0.0, 0, None, 0, ())
    parsed = ParsedDocument(title, blocks, report)
    return segment(parsed, title=title, count_tokens=words, max_tokens=limit)


def heading(text: str, level: int = 1) -> Block:
    return Block(BlockKind.HEADING, text, level=level)


def paragraph(text: str, page: int | None = None) -> Block:
    return Block(BlockKind.PARAGRAPH, text, page=page)


def table(rows: int, caption: str = "") -> Block:
    cells = tuple((f"Şehir {n}", f"{n} gün") for n in range(rows))
    return Block(BlockKind.TABLE, "", header=("İl", "Süre"), rows=cells, caption=caption)


def test_headings_that_leave_no_room_for_those_above_them_end_the_path() -> None:
    def costly(text: str) -> int:
        """As the real embedders count: even a text of nothing costs something."""
        return 6 + len(text) // 4

    report = Report("text/plain", "utf-8", None, (), 1, 0.0, 0, None, 0, ())
    blocks = (heading("Üst"), heading("uzun " * 200, 2), paragraph("On dört gün."))
    parsed = ParsedDocument("Yardım", blocks, report)
    (only,) = segment(parsed, title="Yardım", count_tokens=costly, max_tokens=LIMIT)
    assert len(only.heading) == 1
    assert only.heading[0].startswith("uzun uzun")


def test_a_passage_never_crosses_a_heading() -> None:
    made = cut(heading("İade"), paragraph("On dört gün."), heading("Kargo"), paragraph("İki gün."))
    assert [(part.heading, part.text) for part in made] == [
        (("İade",), "On dört gün."),
        (("Kargo",), "İki gün."),
    ]


def test_the_heading_path_holds_every_heading_above() -> None:
    made = cut(heading("İade"), heading("Süre", 2), heading("Mobilya", 3), paragraph("30 gün."))
    assert made[0].heading == ("İade", "Süre", "Mobilya")


def test_a_heading_of_the_same_level_replaces_the_one_before() -> None:
    made = cut(
        heading("A"), heading("B", 2), heading("C", 2), paragraph("x"), heading("D"), paragraph("y")
    )
    assert [part.heading for part in made] == [("A", "C"), ("D",)]


def test_what_is_embedded_is_title_path_and_text_and_the_title_once() -> None:
    made = cut(heading("Yardım"), heading("Süre", 2), paragraph("14 gün."))
    assert made[0].whole == "Yardım\nSüre\n14 gün."


def test_short_paragraphs_are_gathered_up_to_the_target() -> None:
    made = cut(*(paragraph("bir iki üç dört beş.") for _ in range(100)))
    assert [words(part.text) for part in made] == [TARGET, TARGET, 500 - 2 * TARGET]


def test_a_small_tail_joins_the_last_passage() -> None:
    made = cut(*(paragraph("bir iki üç dört beş.") for _ in range(TARGET // 5 + 2)))
    assert len(made) == 1


def test_a_long_paragraph_is_cut_between_sentences() -> None:
    sentence = "Kelime " * 59 + "son."
    made = cut(paragraph(f"{sentence} {sentence} {sentence} {sentence} {sentence}"))
    assert len(made) > 1
    assert all(part.text.endswith("son.") for part in made)


def test_a_sentence_longer_than_the_limit_is_cut_between_words_and_nothing_is_lost() -> None:
    text = " ".join(f"kelime{n}" for n in range(400))
    made = cut(paragraph(text), limit=100)
    assert all(part.tokens <= 100 for part in made)
    assert " ".join(part.text for part in made) == text


def test_a_word_longer_than_the_limit_is_cut_inside() -> None:
    report = Report("text/plain", "utf-8", None, (), 1, 0.0, 0, None, 0, ())
    parsed = ParsedDocument("t", (paragraph("a" * 5000),), report)
    made = segment(parsed, title="t", count_tokens=len, max_tokens=200)
    assert "".join(part.text for part in made) == "a" * 5000
    assert all(part.tokens <= 200 for part in made)


def test_a_table_row_carries_its_column_names() -> None:
    assert cut(table(1))[0].text == "İl: Şehir 0 · Süre: 0 gün"


def test_a_table_that_is_cut_repeats_its_title() -> None:
    made = cut(table(60, caption="Teslimat süreleri"))
    assert len(made) > 1
    assert all(part.text.startswith("Teslimat süreleri\nİl: ") for part in made)
    assert all(words(part.text) <= TABLE_TARGET + TABLE_TARGET // 4 + 2 for part in made)
    assert sum(part.text.count("İl: ") for part in made) == 60


def test_prose_and_tables_do_not_share_a_passage() -> None:
    made = cut(paragraph("Önce."), table(2), paragraph("Sonra."))
    assert [part.text.split()[0] for part in made] == ["Önce.", "İl:", "Sonra."]


def test_list_items_keep_their_marks_and_lines() -> None:
    item = Block(BlockKind.LIST_ITEM, "Fatura")
    assert cut(paragraph("Gerekenler:"), item, item)[0].text == "Gerekenler:\n- Fatura\n- Fatura"


def test_a_passage_says_on_which_page_it_starts() -> None:
    made = cut(paragraph("x " * 150 + ".", page=1), paragraph("y " * 150 + ".", page=2))
    assert [part.page for part in made] == [1, 2]


def test_a_long_heading_path_leaves_room_for_the_text() -> None:
    made = cut(heading("uzun " * 300), heading("yakın", 2), paragraph("metin " * 40), limit=100)
    assert all(part.tokens <= 100 for part in made)
    assert made[0].heading[-1] == "yakın"


def test_sentences_do_not_end_at_abbreviations_numbers_or_initials() -> None:
    text = "Dr. Ayşe geldi. 2. Madde uyarınca vb. Haklar saklıdır. M. Kemal Cad. No. 5 açık! Gelin."
    assert sentences(text) == [
        "Dr. Ayşe geldi.",
        "2. Madde uyarınca vb. Haklar saklıdır.",
        "M. Kemal Cad. No. 5 açık!",
        "Gelin.",
    ]


def test_nothing_makes_no_passage() -> None:
    assert cut(heading("Yalnız başlık")) == ()


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a " + "." * 3_000_000 + " b", 1),
        ("a " + "." * 3_000_000 + " B", 2),
        ("." + '"' * 3_000_000, 1),
        ('."' * 1_500_000 + " B", 2),
        ("A. " * 300_000 + "son.", 1),
        ("Bitti." + " " * 3_000_000 + "Son.", 2),
        ("vb. A" * 300_000, 300_000),
    ],
    ids=[
        "dots",
        "dots that end",
        "quotes",
        "dots and quotes",
        "initials",
        "blanks",
        "abbreviations",
    ],
)
def test_a_run_without_end_is_read_once(text: str, found: int) -> None:
    assert len(sentences(text)) == found


def test_a_text_without_blanks_is_cut_into_passages() -> None:
    def costly(text: str) -> int:
        return len(text) // 4

    report = Report("text/plain", "utf-8", None, (), 1, 0.0, 0, None, 0, ())
    parsed = ParsedDocument("Yardım", (paragraph("a" * 15_000_000),), report)
    made = segment(parsed, title="Yardım", count_tokens=costly, max_tokens=LIMIT)
    assert sum(len(part.text) for part in made) == 15_000_000
    assert all(costly(part.text) <= LIMIT for part in made)
