"""E-mail: no part that a person reads is lost, and none that only repeats another is read twice."""

from __future__ import annotations

from email.message import EmailMessage

import pytest

from ingestion.parsing import BlockKind, ParsedDocument, TooComplex, parse


def mail(subject: str, text: str = "", html: str = "") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Ayşe Kaya <ayse@acme.example>"
    message["To"] = "destek@acme.example"
    message["Date"] = "Mon, 05 Jan 2026 10:00:00 +0300"
    if text:
        message.set_content(text)
    if html:
        message.add_alternative(html, subtype="html") if text else message.set_content(
            html, subtype="html"
        )
    return message


def text_part(text: str, subtype: str = "plain") -> EmailMessage:
    part = EmailMessage()
    part.set_content(text, subtype=subtype)
    return part


def read(message: EmailMessage) -> ParsedDocument:
    return parse(message.as_bytes(), "ileti.eml")


def lines(document: ParsedDocument) -> list[str]:
    return [block.text for block in document.blocks]


def test_every_text_of_a_message_is_kept_in_order() -> None:
    message = mail("Kargo", "Birinci metin.")
    message.add_attachment(b"%PDF-1.4", "application", "pdf", filename="fatura.pdf")
    message.attach(text_part("İkinci metin."))
    message.attach(text_part("<p>Üçüncü metin.</p>", "html"))
    document = read(message)

    assert lines(document) == ["Kargo", "Birinci metin.", "İkinci metin.", "Üçüncü metin."]
    assert document.report.warnings == ('The attachment "fatura.pdf" was not read.',)


def test_of_alternatives_the_best_is_read() -> None:
    assert lines(read(mail("Kargo", "Düz metin.", "<p>Zengin metin.</p>"))) == [
        "Kargo",
        "Zengin metin.",
    ]
    assert lines(read(mail("Kargo", "Düz metin.", "<img src=a.png>"))) == ["Kargo", "Düz metin."]


def test_alternatives_inside_a_message_do_not_hide_what_follows() -> None:
    message = mail("Kargo", "Düz metin.", "<p>Zengin metin.</p>")
    message.make_mixed()
    message.attach(text_part("Ek not."))

    assert lines(read(message)) == ["Kargo", "Zengin metin.", "Ek not."]


@pytest.mark.parametrize("disposition", ["inline", "attachment"])
def test_a_forwarded_message_follows_under_its_own_heading(disposition: str) -> None:
    inner = mail("İade süresi", "İade süresi on dört gündür.")
    message = mail("İlt: İade süresi", "Bilginize.")
    message.add_attachment(inner, disposition=disposition)
    document = read(message)

    assert lines(document) == [
        "İlt: İade süresi",
        "Bilginize.",
        "İade süresi — Ayşe Kaya <ayse@acme.example> — Mon, 05 Jan 2026 10:00:00 +0300",
        "İade süresi on dört gündür.",
    ]
    assert (document.blocks[2].kind, document.blocks[2].level) == (BlockKind.HEADING, 2)
    assert document.title == "İlt: İade süresi"


def test_a_message_that_only_forwards_is_read() -> None:
    message = mail("İlt: Kargo")
    message.set_content(mail("Kargo", "Kargo bedava."))

    assert lines(read(message))[-1] == "Kargo bedava."


def test_texts_of_other_kinds_are_reported() -> None:
    message = mail("Toplantı", "Yarın görüşelim.")
    message.make_mixed()
    message.attach(text_part("BEGIN:VCALENDAR", "calendar"))

    assert read(message).report.warnings == ('A part of the kind "text/calendar" was not read.',)


@pytest.mark.parametrize("depth", [60, 1000])
def test_parts_nested_without_end_are_refused(depth: int) -> None:
    head = "From: a@acme.example\nTo: b@acme.example\nSubject: x\nMIME-Version: 1.0\n"
    parts = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\n\n--b{n}\n" for n in range(depth)
    )
    with pytest.raises(TooComplex, match="nested"):
        parse(f"{head}{parts}Content-Type: text/plain\n\nmetin\n".encode(), "a.eml")

    messages = "Content-Type: message/rfc822\n\n" * depth
    with pytest.raises(TooComplex, match="nested"):
        parse(f"{head}{messages}\nmetin\n".encode(), "a.eml")
