"""The retrieval contract (DESIGN §4) again, slow and obvious: what the statement is held against.

Plain Python over plain values, written from the contract's sentences and not from the SQL. An idf
is a whole number of billionths, as the statement keeps it, so that sums are the same in any order.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from ingestion.analyse import Root
from retrieval.statement import Settings


@dataclass(frozen=True)
class Row:
    """A passage as the narrow table holds it."""

    document: UUID
    uri: str
    position: int
    same_text: UUID
    vector: tuple[float, ...]
    stemmed: frozenset[str]
    plain: frozenset[str]
    enabled: bool = True

    @property
    def key(self) -> tuple[bytes, int]:
        """What breaks ties: the document's uri in code point order, then the position."""
        return self.uri.encode(), self.position

    def holds(self, root: Root) -> bool:
        return not self.stemmed.isdisjoint(root.stemmed) or not self.plain.isdisjoint(root.plain)


@dataclass(frozen=True)
class Judged:
    """A candidate with all that the trace says of it."""

    row: Row
    semantic_rank: int | None
    lexical_rank: int | None
    similarity: float
    semantic: float
    lexical: float
    roots: frozenset[int]
    score: float
    verdict: str = ""
    rank: int | None = None


def cosine(left: Sequence[float], right: Sequence[float]) -> float:
    dot = math.fsum(a * b for a, b in zip(left, right, strict=True))
    return dot / math.sqrt(math.fsum(a * a for a in left) * math.fsum(b * b for b in right))


def idf(total: int, df: int, root: Root) -> int:
    return round(1e9 * root.weight * math.log(1 + (total - df + 0.5) / (df + 0.5)))


def looked_up(roots: Sequence[Root], common: Mapping[str, int], settings: Settings) -> set[int]:
    """The rarest roots while their passages together stay within the bound.

    `common` counts the passages of common lexemes; one that is not in it counts as none. The first
    root is always looked up, up to four times the bound.
    """

    def passages(root: Root) -> int:
        return sum(common.get(form, 0) for form in {*root.stemmed, *root.plain})

    chosen: set[int] = set()
    so_far = 0
    for number in sorted(range(len(roots)), key=lambda n: (passages(roots[n]), n)):
        first = so_far == 0
        so_far += passages(roots[number])
        bound = settings.lexical_bound
        if so_far <= bound or (first and so_far <= 4 * bound):
            chosen.add(number)
    return chosen


def contract(
    rows: Iterable[Row],
    roots: Sequence[Root],
    question: Sequence[float],
    settings: Settings,
    common: Mapping[str, int] | None = None,
) -> list[Judged]:
    """The whole pool in fused order, each candidate judged."""
    inside = [row for row in rows if row.enabled]
    similarity = {row.key: cosine(row.vector, question) for row in inside}

    by_cosine = sorted(inside, key=lambda row: (-similarity[row.key], row.key))
    semantic = {row.key: n for n, row in enumerate(by_cosine[: settings.semantic_depth], 1)}

    searched = looked_up(roots, common or {}, settings)
    worth = {
        n: idf(len(inside), sum(row.holds(roots[n]) for row in inside), roots[n]) for n in searched
    }
    lexical_weight = {
        row.key: sum(worth[n] for n in searched if row.holds(roots[n])) for row in inside
    }
    matching = [row for row in inside if any(row.holds(roots[n]) for n in searched)]
    by_weight = sorted(matching, key=lambda row: (-lexical_weight[row.key], row.key))
    lexical = {row.key: n for n, row in enumerate(by_weight[: settings.lexical_depth], 1)}

    pool = [row for row in inside if row.key in semantic or row.key in lexical]
    scored = [
        _scored(row, pool, roots, similarity, semantic.get(row.key), lexical.get(row.key), settings)
        for row in pool
    ]
    return _judged(sorted(scored, key=lambda one: (-one.score, one.row.key)), settings)


def _scored(
    row: Row,
    pool: Sequence[Row],
    roots: Sequence[Root],
    similarity: Mapping[tuple[bytes, int], float],
    semantic_rank: int | None,
    lexical_rank: int | None,
    settings: Settings,
) -> Judged:
    lowest = min(similarity[other.key] for other in pool)
    here = similarity[row.key]
    semantic = (here - lowest) / (1 - lowest) if lowest < 1 else 0.0

    df = [sum(other.holds(root) for other in pool) for root in roots]
    worth = [idf(len(pool), n, root) if n else 0 for n, root in zip(df, roots, strict=True)]
    held = {n for n, root in enumerate(roots) if row.holds(root)}
    lexical = sum(worth[n] for n in held) / sum(worth) if sum(worth) else 0.0

    if settings.fusion == "calibrated":
        score = settings.semantic_weight * semantic + settings.lexical_weight * lexical
    elif settings.fusion == "rrf":
        ranks = [rank for rank in (semantic_rank, lexical_rank) if rank is not None]
        score = sum(1 / (settings.rrf_k + rank) for rank in ranks)
    elif settings.fusion == "semantic":
        score = semantic
    else:
        assert lexical_rank is not None
        score = 1 / lexical_rank
    return Judged(row, semantic_rank, lexical_rank, here, semantic, lexical, frozenset(held), score)


def _judged(ordered: Sequence[Judged], settings: Settings) -> list[Judged]:
    """First what the caps allow, in order; then what they held back, until the limit is reached."""
    strongest = ordered[0].row.document if ordered else None
    texts: set[UUID] = set()
    taken: Counter[UUID] = Counter()
    within: list[int] = []
    over: list[int] = []
    verdicts: dict[int, tuple[str, int | None]] = {}
    for place, one in enumerate(ordered):
        if one.row.same_text in texts:
            verdicts[place] = ("duplicate", None)
            continue
        texts.add(one.row.same_text)
        taken[one.row.document] += 1
        cap = settings.document_cap
        if one.row.document == strongest:
            cap = settings.strongest_document_cap
        (within if taken[one.row.document] <= cap else over).append(place)
    for rank, place in enumerate(within + over, 1):
        fits = rank <= settings.limit
        if place in within:
            verdicts[place] = ("kept" if fits else "beyond_limit", rank if fits else None)
        else:
            verdicts[place] = ("filled" if fits else "over_cap", rank if fits else None)
    return [
        Judged(**{**vars(one), "verdict": verdicts[place][0], "rank": verdicts[place][1]})
        for place, one in enumerate(ordered)
    ]
