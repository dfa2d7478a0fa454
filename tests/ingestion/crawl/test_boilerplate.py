"""What repeats, and what stays."""

from __future__ import annotations

import random

from ingestion.crawl.boilerplate import key, learn, without
from ingestion.crawl.content import write_page
from ingestion.parsing import Block, BlockKind, parse


def heading(text: str, level: int = 2) -> Block:
    return Block(BlockKind.HEADING, text, level)


def paragraph(text: str) -> Block:
    return Block(BlockKind.PARAGRAPH, text)


TITLE, OWN, NOTICE = heading("İade", 1), paragraph("On dört gün."), paragraph("Bizi arayın.")


def keys(*blocks: Block) -> set[int]:
    return set(map(key, blocks))


def test_a_block_on_most_pages_repeats_and_one_on_half_of_them_does_not() -> None:
    pages = [keys(NOTICE, paragraph(f"{n}")) for n in range(6)]
    assert learn(pages) == keys(NOTICE)
    assert learn(pages + [keys(paragraph(f"x{n}")) for n in range(5)]) == keys(NOTICE)
    assert learn(pages + [keys(paragraph(f"x{n}")) for n in range(6)]) == set()


def test_few_pages_teach_nothing() -> None:
    assert learn([keys(NOTICE)] * 4) == set()


def test_a_block_counts_once_a_page() -> None:
    assert learn([[key(NOTICE)] * 9, *([[0]] * 5)]) == {0}


def test_case_and_spacing_make_no_difference() -> None:
    assert key(paragraph("Call  US.")) == key(paragraph("call us."))
    assert key(paragraph("Call us.")) != key(paragraph("Call me."))


def test_the_order_of_pages_makes_no_difference() -> None:
    pages = [keys(NOTICE, paragraph(str(n % 3))) for n in range(12)]
    shuffled = random.Random(1).sample(pages, len(pages))
    assert learn(pages) == learn(shuffled)


def test_repeated_blocks_go_and_the_rest_stays_in_order() -> None:
    blocks = (TITLE, NOTICE, OWN, NOTICE)
    assert without(blocks, keys(NOTICE)) == (TITLE, OWN)


def test_a_repeated_heading_stays_while_something_stands_under_it() -> None:
    steps, more = heading("Adımlar"), heading("Daha fazla")
    repeated = keys(steps, more, NOTICE)
    assert without((TITLE, steps, OWN, more, NOTICE), repeated) == (TITLE, steps, OWN)


def test_a_repeated_heading_stays_for_a_section_below_it() -> None:
    outer, inner = heading("Konular", 2), heading("Kargo", 3)
    assert without((TITLE, OWN, outer, inner, OWN), keys(outer)) == (TITLE, OWN, outer, inner, OWN)
    assert without((TITLE, OWN, outer, heading("Kargo"), OWN), keys(outer))[2].text == "Kargo"


def test_the_title_of_a_page_never_goes() -> None:
    assert without((TITLE, OWN), keys(TITLE))[0] == TITLE


def test_a_page_that_would_lose_everything_keeps_everything() -> None:
    assert without((TITLE, NOTICE), keys(NOTICE)) == (TITLE, NOTICE)


def test_what_is_written_reads_back_to_the_same_blocks() -> None:
    blocks = (
        TITLE,
        paragraph("5 < 6 & \"7\" > '3'"),
        Block(BlockKind.LIST_ITEM, "bir"),
        Block(BlockKind.LIST_ITEM, "iki"),
        heading("Kod", 3),
        Block(BlockKind.CODE, "  for x in y:\n      print(x)"),
        Block(
            BlockKind.TABLE,
            "",
            header=("Ürün", "Fiyat"),
            rows=(("TR-1234", "35.000,50 TL"), ("TR-9", "")),
            caption="Fiyatlar",
        ),
        OWN,
    )
    parsed = parse(write_page("İade", blocks), "iade.html")
    assert parsed.title == "İade"
    assert parsed.blocks == blocks
