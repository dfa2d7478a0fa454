"""The frontier: the pages of a sync that wait to be fetched, nearest to the start first, and those
of one depth in the order in which they were linked.

Every address of a sync is one row with the sync's number. Adding an address that the sync has seen
does nothing, so circles end by themselves.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from django.db import connection
from django.db.models import F, Field, Q, QuerySet
from django.utils import timezone

from ingestion.crawl.models import Page, Sync, Website
from ingestion.crawl.normalise import MOST_VARIANTS, Extent, path_of

PAGE_LIMIT, DEPTH_LIMIT, SITEMAP_LIMIT = "page_limit", "depth_limit", "sitemap_limit"
MOST_SITEMAPS = 500  # of one sync
MOST_LEVELS = 3  # of indexes that name indexes
State, Kind = Page.State, Page.Kind


@dataclass
class Walk:
    """One worker's part of a sync: the rows, and what it remembers so as to ask them less.

    `repeated` are the keys of the blocks that repeat, None until they are learned.
    """

    sync: Sync
    website: Website
    extent: Extent
    repeated: frozenset[int] | None
    known: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, sync: Sync) -> Walk:
        website = sync.website
        learned = frozenset(int(one["key"]) for one in website.boilerplate)
        extent = Extent.of(website.url, website.include, website.exclude)
        return cls(sync, website, extent, learned if website.learned_from else None)

    def pages(self) -> QuerySet[Page]:
        """Every page of the website, those of earlier syncs too."""
        return Page.objects.filter(tenant=self.website.tenant_id, website=self.website.pk)

    def seen(self) -> QuerySet[Page]:
        return self.pages().filter(seen=self.sync.number)

    def count(self, kind: str, code: str) -> None:
        """One more page that failed or was skipped, by code."""
        counts = getattr(self.sync, kind)
        counts[code] = counts.get(code, 0) + 1

    def undone(self, page: Page) -> Page | None:
        """The page as it was before a transaction that was rolled back; so are the counts."""
        self.known.clear()
        self.sync.refresh_from_db(fields=[*Sync.COUNTS, "reasons"])
        return self.pages().filter(pk=page.pk).first()

    def because(self, reason: str) -> None:
        """Why this sync cannot be complete."""
        if reason not in self.sync.reasons:
            self.sync.reasons = sorted([*self.sync.reasons, reason])


def add(
    walk: Walk, urls: Iterable[str], *, depth: int, kind: str = Kind.PAGE, hops: int = 0
) -> None:
    """Put the addresses that belong to the website into the frontier; the rest is counted.

    `hops` counts the redirects that led to a page, and the indexes above a sitemap.
    """
    fresh = [url for url in dict.fromkeys(urls) if url not in walk.known]
    if not fresh:
        return
    walk.known.update(fresh)
    wanted = [url for url in fresh if kind == Kind.SITEMAP or _belongs(walk, url)]
    if kind != Kind.SITEMAP:
        wanted = _within_depth(walk, _few_variants(walk, _unseen(walk, wanted)), depth)
        wanted = _within_limit(walk, wanted)
        walk.sync.found += len(wanted)
    else:
        wanted = _unseen(walk, [url for url in wanted if walk.extent.is_own_host(url)])
        wanted = few_sitemaps(walk, wanted, _room_for_sitemaps(walk, wanted, hops))
    _write(walk, wanted, depth, kind, hops)


def _belongs(walk: Walk, url: str) -> bool:
    if url == walk.website.url:
        return True
    refusal = walk.extent.refusal(url)
    if refusal in {"trap", "excluded"}:
        walk.count("skipped", refusal)
    return not refusal


def _unseen(walk: Walk, urls: Sequence[str]) -> list[str]:
    if not urls:
        return []
    seen = set(walk.seen().filter(url__in=urls).values_list("url", flat=True))
    return [url for url in urls if url not in seen]


def _few_variants(walk: Walk, urls: Sequence[str]) -> list[str]:
    """At most so many query strings for one path: filters and calendars have no end."""
    kept: list[str] = []
    here: Counter[str] = Counter()
    for url in urls:
        path = path_of(url)
        if path != url:
            if path not in here:
                here[path] = walk.seen().filter(url__gte=path + "?", url__lt=path + "@").count()
            if here[path] >= MOST_VARIANTS:
                walk.count("skipped", "query_variants")
                continue
            here[path] += 1
        kept.append(url)
    return kept


def _within_depth(walk: Walk, urls: list[str], depth: int) -> list[str]:
    if depth <= walk.website.depth_limit or not urls:
        return urls
    walk.because(DEPTH_LIMIT)
    walk.sync.skipped[DEPTH_LIMIT] = walk.sync.skipped.get(DEPTH_LIMIT, 0) + len(urls)
    walk.known.difference_update(urls)  # another way may be shorter
    return []


def _within_limit(walk: Walk, urls: list[str]) -> list[str]:
    room = max(0, walk.website.page_limit - walk.sync.found)
    if len(urls) > room:
        walk.because(PAGE_LIMIT)
        walk.sync.skipped[PAGE_LIMIT] = walk.sync.skipped.get(PAGE_LIMIT, 0) + len(urls) - room
    return urls[:room]


def _room_for_sitemaps(walk: Walk, urls: list[str], level: int) -> int:
    if level > MOST_LEVELS or not urls:
        return 0
    return max(0, MOST_SITEMAPS - walk.seen().filter(kind=Kind.SITEMAP).count())


def few_sitemaps(walk: Walk, urls: list[str], room: int) -> list[str]:
    """The first of them; the rest is counted, and leaves the sync partial."""
    if len(urls) > room:
        walk.because(SITEMAP_LIMIT)
        counted = walk.sync.skipped.get(SITEMAP_LIMIT, 0)
        walk.sync.skipped[SITEMAP_LIMIT] = counted + len(urls) - room
    return urls[:room]


def _write(walk: Walk, urls: Sequence[str], depth: int, kind: str, hops: int) -> None:
    if not urls:
        return
    owner = {"tenant_id": walk.website.tenant_id, "agent_id": walk.website.agent_id}
    first = walk.sync.found - len(urls) if kind != Kind.SITEMAP else 0
    Page.objects.bulk_create(
        [
            Page(
                **owner,
                website=walk.website,
                url=url,
                kind=kind,
                seen=walk.sync.number,
                depth=depth,
                place=first + n,
                hops=hops,
            )
            for n, url in enumerate(urls)
        ],
        update_conflicts=True,
        unique_fields=["tenant", "website", "url"],
        update_fields=["seen", "state", "depth", "place", "hops", "tries", "not_before", "alone"],
        batch_size=1000,
    )


def take(walk: Walk, count: int) -> list[Page]:
    """The next pages that may be fetched now; each is noted as tried once more."""
    ready = Q(not_before=None) | Q(not_before__lte=timezone.now())
    waiting = walk.seen().filter(ready, state=State.WAITING)
    found = list(waiting.defer("content", "blocks").order_by("depth", "place", "url")[:count])
    walk.pages().filter(pk__in=[page.pk for page in found]).update(tries=F("tries") + 1)
    for page in found:
        page.tries += 1
    return found


def store(walk: Walk, page: Page) -> None:
    """Write what was loaded or set of a page. One whose document was deleted meanwhile is gone with
    it, and stays gone until the next sync finds it."""
    fields, statement = _store_sql(frozenset(page.get_deferred_fields()))
    values = [one.get_db_prep_save(getattr(page, one.attname), connection) for one in fields]
    with connection.cursor() as cursor:
        cursor.execute(statement, [*values, page.pk, walk.website.tenant_id, walk.website.pk])


@lru_cache
def _store_sql(deferred: frozenset[str]) -> tuple[list[Field[Any, Any]], str]:
    """The fields to write and the statement, which is composed once: it runs for every page."""
    kept = {"id", "tenant_id", "agent_id", "website_id", "url"} | deferred
    fields = [one for one in Page._meta.concrete_fields if one.attname not in kept]
    assigned = ", ".join(f"{connection.ops.quote_name(str(one.column))} = %s" for one in fields)
    where = "id = %s AND tenant_id = %s AND website_id = %s"
    return fields, f"UPDATE ingestion_page SET {assigned} WHERE {where}"  # noqa: S608 (columns of the model)


def put_back(walk: Walk, pages: Sequence[Page]) -> None:
    """Undo `take` for pages that were not fetched."""
    walk.pages().filter(pk__in=[page.pk for page in pages]).update(tries=F("tries") - 1)


def next_moment(walk: Walk) -> float | None:
    """Seconds until a page may be tried again; None when no page waits."""
    waiting = walk.seen().filter(state=State.WAITING)
    row = waiting.order_by(F("not_before").asc(nulls_first=True)).first()
    if row is None:
        return None
    if row.not_before is None:
        return 0.0
    return max(0.0, (row.not_before - timezone.now()).total_seconds())


def again(walk: Walk, pages: Iterable[Page]) -> int:
    """Fetch pages once more in this sync, for themselves, forgetting what spared it."""
    keys = [page.pk for page in pages]
    fresh = {"state": State.WAITING, "tries": 0, "not_before": None, "content_hash": ""}
    forgotten = {"etag": "", "last_modified": "", "alias_of": "", "code": ""}
    return walk.pages().filter(pk__in=keys).update(alone=True, **fresh, **forgotten)
