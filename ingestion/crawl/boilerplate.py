"""What repeats across a website is not what its pages are about.

A block whose text stands on more than half of the pages, and on at least five, is boilerplate: the
telephone number of the footer, "was this page helpful?", the notice above every article. A
repeated heading goes only when all that stands under it goes. A page that would lose everything
keeps everything. The rule is a function of the set of pages, so the order of a crawl changes
nothing.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from ingestion.parsing import Block, BlockKind

FEWEST_PAGES = 5
SHARE = 0.5


def key(block: Block) -> int:
    """64 signed bits for the block's text, whatever its case and spacing."""
    text = " ".join(block.all_text().casefold().split())
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def learn(pages: Iterable[Collection[int]]) -> frozenset[int]:
    """The keys of the blocks that repeat, from the keys of every page's blocks."""
    counts: Counter[int] = Counter()
    total = 0
    for keys in pages:
        counts.update(set(keys))
        total += 1
    return frozenset(
        found for found, count in counts.items() if count >= FEWEST_PAGES and count > SHARE * total
    )


def dropped(blocks: Sequence[Block], repeated: Collection[int]) -> frozenset[int]:
    """Which of a page's blocks go, by their place."""
    repeats = [key(block) in repeated for block in blocks]
    gone: set[int] = set()
    kept_under = False
    level_kept = 0  # of the nearest heading below that stays
    for place in range(len(blocks) - 1, -1, -1):
        block = blocks[place]
        if block.kind is not BlockKind.HEADING:
            if repeats[place]:
                gone.add(place)
            else:
                kept_under = True
            continue
        has_text = kept_under or level_kept > block.level
        if repeats[place] and block.level > 1 and not has_text:
            gone.add(place)
        else:
            level_kept = block.level
        kept_under = False
    kept = [block for place, block in enumerate(blocks) if place not in gone]
    is_empty = all(block.kind is BlockKind.HEADING for block in kept)
    return frozenset() if is_empty else frozenset(gone)


def without(blocks: Sequence[Block], repeated: Collection[int]) -> tuple[Block, ...]:
    gone = dropped(blocks, repeated)
    return tuple(block for place, block in enumerate(blocks) if place not in gone)
