"""Finish: nothing waits any more. What repeats is learned, what is gone is removed, the sync ends.

A page goes only when the sync is complete: the start was read, no server and no page failed, no
limit was met. Otherwise a page that was not found may merely not have been looked for. When most of
a website seems to be gone, the next sync is to say so as well: a start that asks for a login or
speaks of maintenance looks like a start without links. Each step can be repeated, so a worker that
dies here is followed by one that does the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from django.db import DatabaseError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from dolphy.errors import DolphyError, NotFound
from ingestion import documents
from ingestion.crawl import boilerplate, frontier
from ingestion.crawl.content import unpacked
from ingestion.crawl.deliver import deliver_held
from ingestion.crawl.errors import PageFault, SitemapEmpty, StartFailed
from ingestion.crawl.frontier import Walk
from ingestion.crawl.models import Page, Sync, Website
from ingestion.crawl.robots import OF_THE_SERVER, UNREACHABLE, origin_of
from ingestion.crawl.settle import DIRECTIONS, MAX_HOPS, PAGES_FAILED, SITEMAP_FAULTS
from ingestion.models import Document
from ingestion.parsing import parse
from ingestion.parsing.media_type import HTML

logger = logging.getLogger(__name__)

START_FAILED = "start_failed"
ONLY_LINKS = "only_links"
TOO_MANY_GONE = "too_many_gone"
FEW_DOCUMENTS = 3  # of so many at least, more than half are many
WITH_CONTENT = (
    "website_id = %s AND tenant_id = %s AND seen = %s "
    "AND state <> 'waiting' AND code = '' AND kind = 'page'"
)
LEARN_FROM = 20  # pages, before the first of them are delivered

# The page is there but cannot be read now: what it said before goes on answering.
KEPT = {
    "unreadable",
    "empty_file",
    "no_content",
    ONLY_LINKS,
    "needs_javascript",
    "garbled_text",
    "too_complex",
    "broken_file",
    "password_protected",
    "unsupported_media_type",
    "page_too_large",
    "too_large",
}


def finish(walk: Walk) -> bool:
    """End the sync, or put pages back into the frontier and return False. Raises `SyncLost`."""
    if _restore_lost_content(walk):
        return False
    learn_and_deliver(walk)
    start = _start(walk)
    if start is None or not _leads_on(walk, start):
        walk.because(START_FAILED)
    _excuse_ways(walk)
    walk.sync.report()
    if not walk.sync.reasons:
        _remove_unless_many(walk)
    _end(walk, start)
    return True


def learn_and_deliver(walk: Walk) -> None:
    """Learn what repeats over all pages; deliver those that wait for it or that it concerns."""
    walk.repeated = _learned(walk)
    for page in _concerned(walk):
        with transaction.atomic():
            try:
                with transaction.atomic():
                    deliver_held(walk, page)
                page.state = Page.State.DONE
            except DatabaseError:
                raise
            except Exception as error:
                _undelivered(walk, page, error)
            frontier.store(walk, page)
            walk.sync.report()


def _undelivered(walk: Walk, page: Page, error: Exception) -> None:
    if not isinstance(error, DolphyError):
        logger.error("Page %s could not be delivered", page.url, exc_info=error)
    code = error.code if isinstance(error, DolphyError) else PageFault.code
    walk.count("failed", code)
    walk.because(PAGES_FAILED)
    page.state, page.code, page.content_hash = Page.State.DONE, code, ""


def may_learn(walk: Walk) -> bool:
    """Whether the first sync has seen enough to deliver what it holds."""
    held = walk.seen().filter(state=Page.State.HELD)
    return walk.repeated is None and held[:LEARN_FROM].count() >= LEARN_FROM


def _restore_lost_content(walk: Walk) -> int:
    """Pages that pointed to another address for their content, where it is not, are fetched for
    themselves."""
    pointing = walk.seen().filter(state=Page.State.DONE, code__in=["canonical", "duplicate"])
    targets = {
        page.url: page
        for page in walk.pages()
        .filter(url__in=pointing.values("alias_of"))
        .only("url", "seen", "code", "content_hash")
    }
    lost = [
        page
        for page in pointing.only("alias_of", "code", "content_hash")
        if not _is_held_by(walk, page, targets.get(page.alias_of))
    ]
    return frontier.again(walk, lost) if lost else 0


def _is_held_by(walk: Walk, page: Page, target: Page | None) -> bool:
    if target is None or target.seen != walk.sync.number:
        return False
    if page.code == "duplicate":
        return target.code == "" and target.content_hash == page.content_hash
    return target.code in DIRECTIONS | {""} | KEPT


def _learned(walk: Walk) -> frozenset[int]:
    values: list[Any] = [walk.website.pk, walk.website.tenant_id, walk.sync.number]
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM ingestion_page WHERE {WITH_CONTENT}",  # noqa: S608
            values,
        )
        (total,) = cursor.fetchone()
        least = max(boilerplate.FEWEST_PAGES, int(total * boilerplate.SHARE) + 1)
        cursor.execute(
            "SELECT block, count(*) FROM ingestion_page, unnest(blocks) AS block "  # noqa: S608
            f"WHERE {WITH_CONTENT} GROUP BY block HAVING count(*) >= %s",
            [*values, least],
        )
        counts = dict(cursor.fetchall())
    _remember(walk, counts, total)
    return frozenset(counts)


def _remember(walk: Walk, counts: dict[int, int], total: int) -> None:
    """Keep the keys with a sample of their text, so that a person can see what is left out."""
    texts = {int(one["key"]): one["text"] for one in walk.website.boilerplate}
    for key in counts.keys() - texts.keys():
        page = walk.seen().filter(code="", kind=Page.Kind.PAGE, blocks__contains=[key]).first()
        if page is not None:
            texts |= _texts_of(page)
    kept = [
        {"key": str(key), "text": texts.get(key, ""), "pages": count}
        for key, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    ]
    Website.objects.filter(pk=walk.website.pk, tenant=walk.website.tenant_id).update(
        boilerplate=kept, learned_from=total
    )
    walk.website.boilerplate, walk.website.learned_from = kept, total


def _texts_of(page: Page) -> dict[int, str]:
    """How each of its blocks begins, by key. They are only shown, so a fault costs no more."""
    try:
        blocks = parse(unpacked(page.content), "", media_type=HTML).blocks
    except Exception:
        logger.exception("The repeated blocks of %s cannot be shown", page.url)
        return {}
    return {boilerplate.key(block): block.all_text()[:200] for block in blocks}


def _concerned(walk: Walk) -> Iterator[Page]:
    """Pages that wait to be delivered, or from which other blocks are to be dropped than were."""
    repeated = walk.repeated or frozenset()
    own = walk.seen().filter(code="", kind=Page.Kind.PAGE)
    held = list(
        own.filter(state=Page.State.HELD).order_by("depth", "url").values_list("pk", flat=True)
    )
    done = own.filter(state=Page.State.DONE).order_by("depth", "url")
    others = [
        key
        for key, blocks, dropped in done.values_list("pk", "blocks", "dropped")
        if repeated.intersection(blocks) != set(dropped)
    ]
    for key in held + others:
        page = walk.pages().filter(pk=key).first()
        if page is not None:
            yield page


def _start(walk: Walk) -> Page | None:
    """The page that the start leads to, through redirects and canonical addresses."""
    url = walk.website.url
    for _ in range(MAX_HOPS + 2):
        page = walk.seen().filter(url=url).first()
        if page is None or page.code not in DIRECTIONS:
            return page
        url = page.alias_of
    return None


def _excuse_ways(walk: Walk) -> None:
    """A page without content is no failure when it was the way to pages that have some."""
    empty = walk.seen().filter(code="no_content", kind=Page.Kind.PAGE).exclude(links=[])
    for page in empty.only("links", "depth"):
        beyond = walk.seen().filter(url__in=page.links, depth__gt=page.depth)
        if not beyond.filter(code__in=["", *DIRECTIONS]).exists():
            continue
        with transaction.atomic():
            walk.pages().filter(pk=page.pk).update(code=ONLY_LINKS)
            walk.sync.failed["no_content"] = walk.sync.failed.get("no_content", 0) - 1
            if walk.sync.failed["no_content"] <= 0:
                del walk.sync.failed["no_content"]
            walk.count("skipped", ONLY_LINKS)
            walk.sync.report()


def _leads_on(walk: Walk, start: Page) -> bool:
    """Whether the start was read. One that holds nothing but links was, if they led to content:
    a server under maintenance shows an empty page, and no way on from it."""
    if start.kind == Page.Kind.SITEMAP and start.code == "":
        return bool(start.links)
    if start.code not in SITEMAP_FAULTS | {"no_content", ONLY_LINKS}:
        return start.code in ("", "excluded")
    is_way = bool(start.links) or start.code in SITEMAP_FAULTS
    return is_way and walk.seen().filter(code="", depth__gt=start.depth).exists()


def _remove_unless_many(walk: Walk) -> None:
    """Remove the documents of pages that were not found, or have no content of their own any more.
    Many at once are left, with the reason why, until the next sync comes to the same."""
    unseen = ~Q(seen=walk.sync.number)
    emptied = ~Q(code="") & ~Q(code__in=KEPT)
    with_document = walk.pages().filter(document__isnull=False)
    gone = with_document.filter(unseen | emptied)
    known = with_document.count() - walk.sync.added
    if known >= FEW_DOCUMENTS and 2 * _doubtful(walk, gone) > known:
        walk.because(TOO_MANY_GONE)
        walk.sync.report()
        return
    _remove(walk, gone)
    walk.pages().filter(unseen).delete()


def _doubtful(walk: Walk, gone: QuerySet[Page]) -> int:
    """How many of them nobody asked to leave out, and the last sync did not miss as well. It must
    have left many too and have seen everything otherwise."""
    ended = [Sync.State.COMPLETE, Sync.State.PARTIAL, Sync.State.FAILED]
    last = (
        Sync.objects.filter(
            tenant=walk.website.tenant_id,
            website=walk.website.pk,
            number__lt=walk.sync.number,
            state__in=ended,
        )
        .order_by("-number")
        .first()
    )
    is_second = last is not None and last.reasons == [TOO_MANY_GONE]
    if last and is_second:
        gone = gone.filter(seen__gte=last.number, seen__lt=walk.sync.number)
    return sum(not walk.extent.refusal(url) for url in gone.values_list("url", flat=True))


def _remove(walk: Walk, gone: QuerySet[Page]) -> None:
    for page in gone.only("document_id", "tenant_id", "agent_id").order_by("url"):
        with transaction.atomic():
            walk.sync.gone += 1
            walk.sync.report()
            _delete_document(page)


def _delete_document(page: Page) -> None:
    document = Document.objects.filter(
        pk__in=[page.document_id], tenant=page.tenant_id, agent=page.agent_id
    ).first()
    if document is None:
        return
    Page.objects.filter(tenant=page.tenant_id, document=document.pk).update(document=None)
    try:
        documents.delete(document)
    except NotFound:  # somebody else was faster
        return


def _end(walk: Walk, start: Page | None) -> None:
    sync, website = walk.sync, walk.website
    now = timezone.now()
    if website.every_hours:
        Website.objects.filter(pk=website.pk, tenant=website.tenant_id).update(
            next_sync_at=now + timedelta(hours=website.every_hours)
        )
    if START_FAILED not in sync.reasons:
        sync.finish(Sync.State.PARTIAL if sync.reasons else Sync.State.COMPLETE)
        return
    why = StartFailed(_why(walk, start) if start else "")
    is_empty = not (sync.added or sync.changed or sync.unchanged)
    state = Sync.State.FAILED if is_empty else Sync.State.PARTIAL
    sync.finish(state, code=why.code, message=why.message)


def _why(walk: Walk, start: Page) -> str:
    """The code of the start, and what robots.txt met if that is why nothing was asked."""
    rules = walk.sync.robots.get(origin_of(start.url), {})
    code = start.code or (SitemapEmpty.code if start.kind == Page.Kind.SITEMAP else "")
    message = rules.get("message") or rules.get("error") or ""
    is_theirs = code in OF_THE_SERVER | {UNREACHABLE}
    return f"({code}) {message if is_theirs else ''}".strip()
