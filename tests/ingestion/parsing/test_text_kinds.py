"""Text, Markdown, CSV, JSON and e-mail beyond their golden files."""

from __future__ import annotations

import json

import pytest

from ingestion.parsing import (
    BlockKind,
    BrokenFile,
    Limits,
    NoContent,
    PasswordProtected,
    QuestionAnswer,
    Report,
    TooComplex,
    UnsupportedMediaType,
    parse,
)
from ingestion.parsing.language import detect_language


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_any_delimiter_is_found(delimiter: str) -> None:
    lines = ["Ürün;Fiyat;Not", 'Tava;"1.100,00";a', 'Ütü;"99,90";"b, c"']
    text = "\n".join(line.replace(";", delimiter) for line in lines)

    table = parse(text.encode(), "liste.csv").blocks[0]

    assert table.header == ("Ürün", "Fiyat", "Not")
    assert table.rows == (("Tava", "1.100,00", "a"), ("Ütü", "99,90", "b, c"))


def test_a_line_of_fifty_megabytes_is_refused() -> None:
    with pytest.raises(TooComplex):
        parse(b"a;b\n" + b"x" * 50_000_000, "uzun.csv")
    with pytest.raises(TooComplex, match="line"):
        parse(b"a;b\n" + b"x" * 3000, "uzun.csv", limits=Limits(max_line=2000))


def test_more_text_than_the_limit_is_refused_in_every_kind_of_text() -> None:
    for name in ("a.txt", "a.md", "a.html", "a.csv", "a.json"):
        with pytest.raises(TooComplex):
            parse(b'["some words in a row"]' * 100, name, limits=Limits(max_characters=500))


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Soru", "Cevap"), ("SORU", "YANIT"), ("question", "Answer"), ("soru", "yanıt")],
)
def test_columns_of_questions_and_answers_become_pairs(question: str, answer: str) -> None:
    document = parse(f"{question};{answer}\nKaç gün?;Üç gün.\nBoş?;\n".encode(), "sss.csv")

    assert document.pairs == (QuestionAnswer("Kaç gün?", "Üç gün."),)
    assert [block.kind for block in document.blocks] == [BlockKind.HEADING, BlockKind.PARAGRAPH]


@pytest.mark.parametrize(
    "value",
    [
        [{"soru": "Kaç gün?", "yanıt": "Üç gün."}],
        {"veri": {"liste": [{"Question": "Kaç gün?", "Answer": "Üç gün."}]}},
        {"Kaç gün?": "Üç gün."},
        [{"q": " Kaç\u202e gün? ", "a": "<p>Üç <b>gün</b>.</p>"}],
    ],
)
def test_pairs_are_found_in_json(value: object) -> None:
    document = parse(json.dumps(value).encode(), "sss.json")

    assert document.pairs == (QuestionAnswer("Kaç gün?", "Üç gün."),)


def test_json_without_pairs_and_broken_json_are_told_apart() -> None:
    with pytest.raises(NoContent, match="question"):
        parse(b'{"a": [1, 2, 3]}', "a.json")
    with pytest.raises(BrokenFile):
        parse(b'{"a": [1, 2', "a.json")
    with pytest.raises(BrokenFile):
        parse(b"[" * 100_000, "a.json")


def test_front_matter_gives_the_title_and_is_no_content() -> None:
    document = parse(b'---\ntitle: "Iade"\ntags: [a]\n---\nMetin burada.\n', "a.md")

    assert document.title == "Iade"
    assert [block.text for block in document.blocks] == ["Metin burada."]


def nested_list(levels: int) -> bytes:
    return "\n".join(f"{'  ' * n}- düzey {n}" for n in range(levels)).encode()


def test_a_list_within_lists_is_read_to_its_innermost() -> None:
    document = parse(nested_list(40), "liste.md")

    assert [block.text for block in document.blocks] == [f"düzey {n}" for n in range(40)]
    assert document.report.warnings == ()


def test_lists_beyond_any_reason_are_cut_and_reported() -> None:
    document = parse(nested_list(60), "liste.md")

    assert document.blocks[-1].text == "düzey 48"
    assert document.report.warnings == ("Lists nested deeper than 49 levels were left out.",)


@pytest.mark.parametrize("marks", ["[" * 50_000, "*a " * 50_000, "`" * 50_000, "&amp" * 9_000])
def test_a_paragraph_that_would_take_minutes_is_refused(marks: str) -> None:
    with pytest.raises(TooComplex, match="marks"):
        parse(marks.encode(), "a.md")


def test_a_long_markdown_file_is_read_in_pieces_without_loss() -> None:
    text = "".join(f"## Bölüm {i}\n\nMetin {i} burada.\n\n```\n# kod\n```\n" for i in range(12_000))
    document = parse(text.encode(), "a.md")

    assert sum(block.kind is BlockKind.HEADING for block in document.blocks) == 12_000
    assert sum(block.kind is BlockKind.CODE for block in document.blocks) == 12_000


def test_scripts_in_markdown_are_dropped() -> None:
    document = parse(b"Merhaba\n\n<script>alert(1)</script>\n\n<b>Kal\xc4\xb1n</b> son", "a.md")

    assert "alert" not in " ".join(block.text for block in document.blocks)


def test_a_title_falls_back_to_the_file_name() -> None:
    assert (
        parse("Yalnız metin.".encode(), "C:\\belgeler\\iade_koşulları.txt").title
        == "iade koşulları"
    )


@pytest.mark.parametrize("line", ["TR-1234 7788 9900", "Merhaba.", "bir iki üç", "IBAN: TR33 0006"])
def test_ordinary_lines_are_no_headings(line: str) -> None:
    blocks = parse(f"{line}\n\nBir paragraf metni.".encode(), "a.txt").blocks

    assert blocks[0].kind is BlockKind.PARAGRAPH


def test_only_punctuation_is_no_content() -> None:
    with pytest.raises(NoContent):
        parse(b"--- *** ...\n\n!!!", "a.txt")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Siparişler üç gün içinde teslim edilir ve kargo ücretsizdir.", "tr"),
        ("Orders are delivered within three days and shipping is free.", "en"),
        ("Die Lieferung erfolgt innerhalb von drei Tagen.", None),
        ("12345", None),
    ],
)
def test_the_language_is_detected(text: str, language: str | None) -> None:
    assert detect_language(text) == language


def test_a_report_can_be_stored_as_json() -> None:
    report = parse("Kısa metin burada.".encode(), "a.txt").report

    assert isinstance(report, Report)
    assert json.loads(json.dumps(report.as_dict())) == report.as_dict()
    assert report.charset == "utf-8"
    assert report.characters == 18


def test_errors_have_stable_codes_and_statuses() -> None:
    assert {e.code: e.status for e in (PasswordProtected, UnsupportedMediaType, TooComplex)} == {
        "password_protected": 422,
        "unsupported_media_type": 415,
        "too_complex": 422,
    }


def test_a_known_media_type_is_taken_as_given() -> None:
    document = parse(b"# Not a heading", "a.md", media_type="text/plain")

    assert document.report.media_type == "text/plain"
    assert document.blocks[0].text == "# Not a heading"


def test_a_mail_with_broken_headers_is_still_read() -> None:
    mail = (
        b"From: =?utf-8?B?gibberish?= <>\nTo: a@b.example\nSubject: =?x-unknown?Q?=FF?=\n"
        b"Content-Type: text/plain; charset=klingon\n\n" + b"Kargo gecikti. " * 5
    )

    assert parse(mail, "a.eml").blocks[-1].text.startswith("Kargo gecikti.")


def test_a_table_that_is_too_wide_is_refused_by_its_columns() -> None:
    row = ",".join(["1"] * 3000)
    with pytest.raises(TooComplex, match="more than 500 columns"):
        parse(f"{row}\n{row}\n".encode(), "genis.csv")


@pytest.mark.parametrize("answer", ["<p " * 1_000_000, "</p" * 1_000_000, "<p>a" + "<p " * 100_000])
def test_an_answer_of_broken_markup_is_read_once(answer: str) -> None:
    data = json.dumps([{"question": "Soru?", "answer": answer}]).encode()
    assert len(parse(data, "a.json").pairs) == 1
