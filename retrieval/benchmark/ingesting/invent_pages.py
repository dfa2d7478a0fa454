"""An invented website: pages as a shop's help has them, written into a folder.

Each has navigation, a footer and a notice that repeat, headings, paragraphs, a list, a table and
links to other pages; about 700 words of its own.
"""

from __future__ import annotations

from pathlib import Path

from retrieval.benchmark.loading.invent import Inventor

SECTIONS, PARAGRAPHS_A_SECTION, ROWS, ITEMS, NEIGHBOURS = 3, 2, 6, 5, 8
_STYLE = "body{margin:0}nav li{display:inline}" * 20
_SCRIPT = "window.counted=(window.counted||0)+1;" * 40


def write_site(folder: Path, pages: int, inventor: Inventor) -> None:
    """`pages` files, a hundred to a folder."""
    titles = [" ".join(inventor.some_words(3)).capitalize() for _ in range(pages)]
    for number in range(pages):
        path = folder / _place(number).lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_page(number, titles, inventor))


def markdown(inventor: Inventor, passages: int) -> str:
    """A document with headings and about so many passages of 80 words."""
    parts = [f"# {' '.join(inventor.some_words(3)).capitalize()}"]
    for number in range(passages):
        if number % 4 == 0:
            parts.append(f"## {' '.join(inventor.some_words(2)).capitalize()}")
        parts.append(inventor.text())
    return "\n\n".join(parts)


def _place(number: int) -> str:
    return f"/{number // 100:03d}/page-{number:05d}.html"


def _page(number: int, titles: list[str], inventor: Inventor) -> str:
    main = "".join(_section(inventor) for _ in range(SECTIONS))
    near = range(number + 1, min(len(titles), number + 1 + NEIGHBOURS))
    links = "".join(f'<li><a href="{_place(n)}">{titles[n]}</a></li>' for n in near)
    menu = "".join(
        f'<li class="menu-item"><a href="{_place(n)}">{titles[n]}</a></li>'
        for n in range(min(30, len(titles)))
    )
    return (
        f'<!DOCTYPE html><html lang="tr"><head><meta charset="utf-8">'
        f"<title>{titles[number]}</title><style>{_STYLE}</style><script>{_SCRIPT}</script></head><body>"
        f'<header><nav><ul class="menu">{menu}</ul></nav></header>'
        f'<main><article><h1>{titles[number]}</h1><p class="notice">Bu sayfa size yardımcı oldu '
        f"mu? Bize yazın.</p>{main}</article><aside><h2>İlgili sayfalar</h2><ul>{links}</ul>"
        "</aside></main><footer><p>Tüm hakları saklıdır. Çağrı merkezi: 0850 000 00 00</p></footer>"
        "</body></html>"
    )


def _section(inventor: Inventor) -> str:
    words = inventor.some_words
    paragraphs = "".join(f"<p>{inventor.text()}</p>" for _ in range(PARAGRAPHS_A_SECTION))
    items = "".join(f"<li>{' '.join(words(8))}</li>" for _ in range(ITEMS))
    rows = "".join(
        "<tr>" + "".join(f"<td>{' '.join(words(2))}</td>" for _ in range(3)) + "</tr>"
        for _ in range(ROWS)
    )
    head = "".join(f"<th>{word}</th>" for word in words(3))
    return (
        f"<h2>{' '.join(words(3)).capitalize()}</h2>{paragraphs}<ul>{items}</ul>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
    )
