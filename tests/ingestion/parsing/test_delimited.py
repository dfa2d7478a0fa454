"""Delimited files as people save them: their delimiter, and rows too long or too short."""

from __future__ import annotations

import io

import pytest
from openpyxl import Workbook

from ingestion.parsing import BlockKind, ParsedDocument, QuestionAnswer, parse
from ingestion.parsing.delimiter import find_delimiter


def read(text: str) -> ParsedDocument:
    return parse(text.encode(), "dosya.csv")


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("Ürün;Fiyat;Not\nÇadır;1.250,00;su geçirmez;iki kişilik\nMasa;350,00", ";"),
        ("Çadır;1.250,00;su geçirmez;iki kişilik\nMasa;350,00;ahşap", ";"),
        ("Kod;Açıklama\nA1;Yazın, bekleyin, alın; olur\nA2;Arayın, sorun, alın\nA3;a, b, c", ";"),
        ("Ürün, model;Fiyat;Not\nÇadır, mavi;1.250,00;su geçirmez", ";"),
        ("Fiyat listesi, 2026\nÜrün;Fiyat\nÇadır;10,5\nMasa;3,25", ";"),
        ("Soru,Cevap\nKaç gün?,Üç gün; belki dört; belki beş.", ","),
        ("Ürün, Fiyat, Not\nTava, 10, iyi\nKap, 12, kötü", ","),
        ('"Ürün, renk";"Fiyat"\n"Çadır, mavi";"1.250,00"\n"Masa; ak";"350,00"', ";"),
        ('Ürün,Not\n"a;b;c","d;e;f"\n"g;h;i","j;k;l"', ","),
        ("Ürün\tFiyat\nÇadır, mavi\t1.250,00\nMasa; ak", "\t"),
        ("Ürün|Fiyat|Not\nÇadır|1.250,00\nMasa|350,00|ahşap|ak", "|"),
        ("Dolphy | Fiyatlar\nÜrün;Fiyat\nÇadır;10\nMasa;11", ";"),
        ("1,2,3\n4,5,6", ","),
        ("sep=|\nÜrün;Fiyat|Not\nÇadır;10|a", "|"),
    ],
)
def test_the_header_names_the_delimiter(text: str, delimiter: str) -> None:
    assert find_delimiter(text)[0] == delimiter


@pytest.mark.parametrize(
    "text", ["Notlar\nMerhaba, dünya\nEvet, olur", "Fiyat\n350,00\n1.250,00", "Şehir\nAnkara"]
)
def test_a_file_of_one_column_is_not_cut(text: str) -> None:
    assert [block.text for block in read(text).blocks] == text.split("\n")


@pytest.mark.parametrize(
    ("row", "question", "answer"),
    [
        ("Ücret?,Ayda 100, yılda 900 TL, net.", "Ücret?", "Ayda 100, yılda 900 TL, net."),
        ("Hesabım yok, olur mu?,Evet, olur.", "Hesabım yok, olur mu?", "Evet, olur."),
        ("Hesabım yok, olur mu?,Evet.", "Hesabım yok, olur mu?", "Evet."),
        ('Ücret?,Aylık 100 TL,"yıllık, peşin",', "Ücret?", "Aylık 100 TL,yıllık, peşin"),
    ],
)  # fmt: skip
def test_an_answer_that_holds_the_delimiter_reads_whole(
    row: str, question: str, answer: str
) -> None:
    document = read(f"Soru,Cevap\nKim?,Herkes.\n{row}\n")

    assert document.pairs == (QuestionAnswer("Kim?", "Herkes."), QuestionAnswer(question, answer))
    assert document.blocks[-1].text == answer
    assert document.report.warnings == (
        'Row 3 has more cells than the header; they were joined by "," as they stood. '
        "Put texts that hold it in quotation marks.",
    )


def test_semicolons_of_an_answer_are_kept() -> None:
    document = read("Soru;Cevap\nÇek nasıl?;Kodu yazın; çek 12 ay geçerlidir.\nKim?;Herkes, evet.")

    assert document.pairs[0].answer == "Kodu yazın; çek 12 ay geçerlidir."
    assert document.pairs[1].answer == "Herkes, evet."


def test_an_answer_between_other_columns_takes_what_is_too_much() -> None:
    document = read("No,Soru,Cevap,Konu\n1,Ücret?,Ayda 100, yılda 900 TL,Ücretler\n")

    assert document.pairs == (QuestionAnswer("Ücret?", "Ayda 100, yılda 900 TL"),)
    assert document.report.warnings[-1] == (
        "Columns beside the questions and answers were not read: No, Konu."
    )


def test_rows_that_are_no_pair_keep_their_text_and_are_said() -> None:
    document = read("Soru;Cevap\nKaç gün?;Üç gün.\n;Bayramda beş.\nKimlere?\nAyrıca pazar günü.\n")

    assert [block.text for block in document.blocks] == [
        "Kaç gün?",
        "Üç gün.",
        "Bayramda beş.",
        "Ayrıca pazar günü.",
    ]
    assert document.report.warnings == (
        "2 rows (4, 5) have fewer cells than the header.",
        "2 rows (3, 5) have no question; the text was kept below the one before.",
        "Row 4 has a question without an answer, which was left out.",
    )


def test_a_table_with_free_text_at_its_end_keeps_it_in_one_cell() -> None:
    document = read("Ürün;Fiyat;Not\nÇadır;1.250,00;su geçirmez;iki kişilik\nMasa;350,00\n")

    table = document.blocks[0]
    assert table.header == ("Ürün", "Fiyat", "Not")
    assert table.rows == (
        ("Çadır", "1.250,00", "su geçirmez;iki kişilik"),
        ("Masa", "350,00", ""),
    )
    assert [warning.split(";")[0] for warning in document.report.warnings] == [
        "Row 2 has more cells than the header",
        "Row 3 has fewer cells than the header.",
    ]


def test_a_table_of_figures_keeps_cells_without_a_name() -> None:
    document = read("Ad;Telefon\nAyşe;0532 111\nAli;0533 222;0212 333;0216 444\n")

    table = document.blocks[0]
    assert table.header == ("Ad", "Telefon", "", "")
    assert table.rows[1] == ("Ali", "0533 222", "0212 333", "0216 444")
    assert document.report.warnings == (
        "Row 3 has more cells than the header; they were kept without a name.",
    )


def test_many_odd_rows_are_counted_and_the_first_are_named() -> None:
    rows = "\n".join(f"Kaç {n}?;Şu;bu." for n in range(12))

    warning = read(f"Soru;Cevap\n{rows}\n").report.warnings[0]

    assert warning.startswith("12 rows (2, 3, 4, 5, 6, 7, 8, 9, 10, 11, …) have more cells")


def test_titles_and_notes_around_a_table_are_not_short_rows() -> None:
    document = read("Liste;;\n\nÜrün;Fiyat;Not\nÇadır;10;iyi\nKDV dahildir.;;\n")

    assert document.report.warnings == ()
    assert [block.kind for block in document.blocks] == [
        BlockKind.PARAGRAPH,
        BlockKind.TABLE,
        BlockKind.PARAGRAPH,
    ]


def test_a_sheet_of_questions_loses_nothing_beside_its_answers() -> None:
    book = Workbook()
    for row in (["Soru", "Cevap"], ["Ücret?", "Ayda 100 TL", "Yılda 900 TL"], ["Kim?"]):
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)

    document = parse(file.getvalue(), "sorular.xlsx")

    assert document.pairs == (QuestionAnswer("Ücret?", "Ayda 100 TL\nYılda 900 TL"),)
    assert document.report.warnings == (
        "Row 3 has a question without an answer, which was left out.",
    )
