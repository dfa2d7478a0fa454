"""Web pages: their content comes through, what surrounds it does not."""

from __future__ import annotations

import pytest

from ingestion.parsing import (
    BlockKind,
    NeedsJavaScript,
    NoContent,
    ParsedDocument,
    TooComplex,
    parse,
)

MENU = "".join(f'<li><a href="/{i}">Bölüm {i}</a></li>' for i in range(6))


def page(body: str, head: str = "") -> ParsedDocument:
    return parse(f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode())


def texts(document: ParsedDocument) -> list[str]:
    return [block.all_text() for block in document.blocks]


@pytest.mark.parametrize(
    "around",
    [
        f"<nav><ul>{MENU}</ul></nav>",
        f"<div><ul>{MENU}</ul></div>",
        f'<div class="ust-menu">{MENU}</div>',
        f'<div id="sidebar"><h3>Başlık</h3>{MENU}</div>',
        '<div class="cookie-consent">Çerez kullanıyoruz. <a href="#">Kabul et</a></div>',
        "<section>Sitemizde çerezler var. Kabul ediyor musunuz? <a href='#'>Evet</a></section>",
        "<footer><p>Kordon Sokak No: 12</p></footer>",
        "<p>© 2026 Kumbara. Tüm hakları saklıdır.</p>",
        "<aside>İlgili yazılar</aside>",
        '<div role="navigation">Menü</div>',
        '<form><label>E-posta</label><input value="x"><button>Gönder</button></form>',
        "<div hidden>Gizli</div>",
        "<script>var a = 'metin';</script><style>p{}</style><noscript>Açın</noscript>",
        '<div class="breadcrumb"><a href="/">Ana sayfa</a> › İade</div>',
    ],
)
def test_what_surrounds_the_content_is_left_out(around: str) -> None:
    content = "<h1>İade</h1><p>İade süresi otuz gündür.</p>"
    expected = ["İade", "İade süresi otuz gündür."]
    found = [t for t in texts(page(around + content + around)) if t != "E-posta"]

    assert found == expected


@pytest.mark.parametrize(
    "content",
    [
        '<div class="page-with-sidebar"><h1>İade</h1><p>Otuz gündür.</p></div>',
        "<main><h1>İade</h1><p>Otuz gündür.</p></main><div><p>Kampanya: yüzde on.</p></div>",
        '<div role="main"><h1>İade</h1><p>Otuz gündür.</p></div>',
        "<article><header><h1>İade</h1></header><p>Otuz gündür.</p></article>",
        '<div><h1>İade</h1><div style="display:none"><p>Otuz gündür.</p></div></div>',
    ],
)
def test_the_content_is_found_in_any_wrapper(content: str) -> None:
    assert texts(page(content)) == ["İade", "Otuz gündür."]


def test_a_title_loses_the_name_of_the_site_only_when_a_heading_confirms_it() -> None:
    head = "<title>Kumbara - Şubelerimiz</title>"

    assert page("<h2>Şubelerimiz</h2><p>İzmir</p>", head).title == "Şubelerimiz"
    assert page("<p>İzmir ve Eskişehir</p>", head).title == "Kumbara - Şubelerimiz"
    assert page("<h1>Adresler</h1><p>İzmir</p>", head).title == "Adresler"


def test_entities_and_line_breaks_are_resolved() -> None:
    assert texts(page("<p>&Uuml;cret&nbsp;5&#8378;<br>KDV&amp;kargo dahil</p>")) == [
        "Ücret 5₺ KDV&kargo dahil"
    ]


def test_text_outside_of_paragraphs_is_kept() -> None:
    assert texts(page("Bir <b>iki</b><p>üç</p>dört<div>beş<span> altı</span></div>")) == [
        "Bir iki", "üç", "dört", "beş altı",
    ]  # fmt: skip


def test_spans_of_a_table_are_filled_out() -> None:
    table = page(
        "<table><tr><th>İl<th>Gün<th>Saat</tr><tr><td rowspan=2>Ankara<td colspan=2>Kapalı</tr>"
        "<tr><td>Salı<td>10</tr></table>"
    ).blocks[0]

    assert table.header == ("İl", "Gün", "Saat")
    assert table.rows == (("Ankara", "Kapalı", "Kapalı"), ("Ankara", "Salı", "10"))


def test_a_nested_table_follows_its_outer_table() -> None:
    outer, inner = page(
        "<table><tr><th>A<th>B</tr><tr><td>1<td>2<table><tr><th>C<th>D<tr><td>3<td>4</table></table>"
    ).blocks

    assert (outer.header, outer.rows) == (("A", "B"), (("1", "2"),))
    assert (inner.header, inner.rows) == (("C", "D"), (("3", "4"),))


def test_a_table_with_row_titles_only_has_no_header() -> None:
    table = page("<table><tr><th>Adres<td>İzmir<tr><th>Telefon<td>0232</table>").blocks[0]

    assert table.header == ()
    assert table.rows == (("Adres", "İzmir"), ("Telefon", "0232"))


def test_a_hostile_span_is_bounded() -> None:
    table = page("<table><tr><th>a<th>b</tr><tr><td colspan=999999999>c<td>d</tr></table>").blocks[
        0
    ]

    assert len(table.rows[0]) <= 101


def test_an_accordion_becomes_questions_with_their_answers() -> None:
    blocks = page("<h2>SSS</h2><details><summary>Nasıl?</summary>Böyle.</details>").blocks

    assert [(b.kind, b.level, b.text) for b in blocks] == [
        (BlockKind.HEADING, 2, "SSS"),
        (BlockKind.HEADING, 3, "Nasıl?"),
        (BlockKind.PARAGRAPH, 0, "Böyle."),
    ]


@pytest.mark.parametrize(
    "body",
    [
        '<div id="root"></div><script src="app.js"></script>',
        "<noscript>Bu sayfa için JavaScript gerekir.</noscript><script>x()</script>",
        '<div id="__next"><p>Yükleniyor</p></div><noscript>JavaScript</noscript><script></script>',
    ],
)
def test_a_page_that_needs_javascript_says_so(body: str) -> None:
    with pytest.raises(NeedsJavaScript):
        page(body)


@pytest.mark.parametrize("body", [f"<nav>{MENU}</nav>", f"<ul>{MENU}</ul>", "<p> </p>", "<img>"])
def test_a_page_without_content_is_refused(body: str) -> None:
    with pytest.raises(NoContent) as caught:
        page(body)

    assert caught.value.code == "no_content"


def test_thousands_of_nested_elements_are_refused() -> None:
    with pytest.raises(TooComplex):
        page("<div>" * 5000 + "<p>Derin metin burada</p>" + "</div>" * 5000)
