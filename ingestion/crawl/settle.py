"""Settle: what an answer means for its page: a document, another address, nothing, try again.

One transaction for each page: the page's row, its links into the frontier, the document it became
and the counts of the sync, with the lease.
"""

from __future__ import annotations

import email.utils
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from urllib.parse import urlsplit

from django.db import connection, transaction
from django.utils import timezone

from dolphy.errors import DolphyError
from ingestion.crawl import frontier, sitemap
from ingestion.crawl.content import fingerprint, packed
from ingestion.crawl.deliver import deliver, deliver_file
from ingestion.crawl.errors import (
    BrokenResponse,
    FetchError,
    HttpStatus,
    NotADocument,
    RedirectLoop,
    RedirectOutside,
    SitemapBroken,
    SitemapEmpty,
    TooManyRedirects,
)
from ingestion.crawl.fetch import REDIRECTS, Fetched
from ingestion.crawl.frontier import Walk
from ingestion.crawl.models import Page
from ingestion.crawl.normalise import normalised
from ingestion.crawl.page import Head
from ingestion.crawl.politeness import rest
from ingestion.crawl.read import Content, Reading
from ingestion.parsing import ParsingError

MAX_TRIES = 3
MAX_STARTS = 8  # more than that, and the page is what kills its worker
BACKOFF_SECONDS = 2.0
MAX_HOPS = 5
PAGES_FAILED = "pages_failed"

# What is certain about an address: it leads nowhere, or to nothing that can become passages. Any
# other failure leaves open what is there, and the sync partial.
CERTAIN = {
    "http_404",
    "http_410",
    "not_a_document",
    "page_too_large",
    "url_refused",
    "too_many_redirects",
    "redirect_loop",
    "redirect_outside",
}
SITEMAP_FAULTS = {SitemapBroken.code, SitemapEmpty.code}  # why the sync is partial, by themselves
# Pages that hold the same content: of this sync, or of the last one if this has not come to them.
_TWINS = """
    SELECT url FROM ingestion_page
    WHERE tenant_id = %(tenant)s AND website_id = %(website)s
        AND content_hash = %(content)s AND content_hash <> ''
        AND code = '' AND id <> %(page)s
        AND (seen = %(sync)s OR NOT %(alone)s AND document_id IS NOT NULL)
"""
DIRECTIONS = {"redirect", "canonical", "duplicate"}  # its content is another address's


@dataclass(frozen=True)
class Refused:
    """A page that was not asked for, and why."""

    code: str
    is_failure: bool = False


def settle(walk: Walk, page: Page, outcome: Reading | FetchError | Refused) -> None:
    """Raises `SyncLost`, having changed nothing, when the sync is no longer ours."""
    with transaction.atomic():
        page.fetched_at = timezone.now()
        try:
            _settle(walk, page, outcome)
        except FetchError as error:
            _failed(walk, page, error)
        except ParsingError as error:
            _unreadable(walk, page, error)
        frontier.store(walk, page)
        walk.sync.report()


def _settle(walk: Walk, page: Page, outcome: Reading | FetchError | Refused) -> None:
    if isinstance(outcome, Refused):
        _refused(walk, page, outcome)
        return
    if isinstance(outcome, FetchError):
        raise outcome
    walk.sync.fetched += 1
    answer = outcome.fetched
    page.status = answer.status
    if answer.status == 304 and conditions(page):
        _unchanged(walk, page)
    elif answer.status in REDIRECTS:
        _redirected(walk, page, answer)
    elif 200 <= answer.status < 300:
        _answered(walk, page, outcome)
    else:
        if answer.status in {429, 503}:
            rest(urlsplit(walk.website.url).netloc, _retry_after(answer.headers, page.tries))
        raise HttpStatus(answer.status)


def conditions(page: Page) -> dict[str, str]:
    """The headers by which a page is asked for only if it changed; none for one whose content was
    never delivered, so that it is needed again."""
    if not (page.document_id or page.code or page.kind == Page.Kind.SITEMAP):
        return {}
    known = {"If-None-Match": page.etag, "If-Modified-Since": page.last_modified}
    return {name: value for name, value in known.items() if value}


def _refused(walk: Walk, page: Page, refused: Refused) -> None:
    _end(page, refused.code)
    if refused.is_failure:
        walk.count("failed", refused.code)
        walk.because(refused.code)
    else:
        walk.count("skipped", refused.code)


def _failed(walk: Walk, page: Page, error: FetchError) -> None:
    """Try again later what may pass; what stays a failure keeps its links, so that the pages
    behind it are still found."""
    if error.passing and page.tries < MAX_TRIES:
        seconds = BACKOFF_SECONDS * 2 ** max(0, page.tries - 1)
        page.not_before = timezone.now() + timedelta(seconds=seconds)
        return
    walk.count("failed", error.code)
    if error.code not in CERTAIN:
        walk.because(error.code if error.code in SITEMAP_FAULTS else PAGES_FAILED)
        _lead_on(walk, page)
    if error.code == SitemapEmpty.code:
        page.links = []
    _end(page, error.code)


def _unreadable(walk: Walk, page: Page, error: ParsingError) -> None:
    """A verdict: the page is there, and there is nothing in it to answer with."""
    walk.count("failed", error.code)
    _end(page, error.code)


def _end(page: Page, code: str) -> None:
    page.state, page.code, page.not_before = Page.State.DONE, code, None
    if code not in DIRECTIONS:
        page.alias_of = ""
    if code not in DIRECTIONS | {"noindex", "excluded", ""}:
        page.etag = page.last_modified = page.content_hash = ""


def _unchanged(walk: Walk, page: Page) -> None:
    """What the page led to last time it leads to again."""
    _lead_on(walk, page)
    if page.code in DIRECTIONS and page.alias_of:
        frontier.add(walk, [page.alias_of], depth=page.depth, hops=page.hops)
    if page.code:
        walk.count("skipped", page.code)
    else:
        walk.sync.unchanged += 1
    _end(page, page.code)


def _lead_on(walk: Walk, page: Page) -> None:
    """To what it led to when it was read last."""
    links = page.links
    if page.kind == Page.Kind.SITEMAP:
        known = walk.pages().filter(url__in=links, kind=page.kind).values_list("url", flat=True)
        maps = set(known)
        _add_sitemaps(walk, page, [url for url in links if url in maps])
        links = [url for url in links if url not in maps]
    frontier.add(walk, links, depth=page.depth + 1)


def _add_sitemaps(walk: Walk, page: Page, urls: list[str]) -> None:
    kind = Page.Kind.SITEMAP
    frontier.add(walk, urls, depth=0, kind=kind, hops=page.hops + 1)


def _redirected(walk: Walk, page: Page, answer: Fetched) -> None:
    if answer.location is None:
        raise BrokenResponse("It redirects to no address.")
    target = normalised(answer.location)
    if target is None or not walk.extent.is_own_host(target):
        raise RedirectOutside(f"It leads to {answer.location[:200]}.")
    if target == page.url or _leads_back(walk, page.url, target):
        raise RedirectLoop
    if page.hops >= MAX_HOPS:
        raise TooManyRedirects
    frontier.add(walk, [target], depth=page.depth, hops=page.hops + 1)
    walk.count("skipped", "redirect")
    page.links, page.etag, page.last_modified, page.content_hash = [], "", "", ""
    page.alias_of = target
    _end(page, "redirect")


def _leads_back(walk: Walk, url: str, target: str) -> bool:
    for _ in range(MAX_HOPS + 1):
        row = walk.seen().filter(url=target, code="redirect").only("alias_of").first()
        if row is None:
            return False
        target = row.alias_of
        if target == url:
            return True
    return False


def _answered(walk: Walk, page: Page, reading: Reading) -> None:
    answer = reading.fetched
    page.etag = answer.headers.get("etag", "")[:500].replace("\0", "")
    page.last_modified = answer.headers.get("last-modified", "")[:100].replace("\0", "")
    if page.kind == Page.Kind.SITEMAP or not (reading.media_type or reading.error):
        _sitemap(walk, page, sitemap.unpacked(answer.body))
    elif reading.head is not None:
        _page(walk, page, reading, reading.head)
    elif reading.error is not None:
        raise reading.error
    elif answer.body.lstrip()[:5] == b"<?xml":
        raise NotADocument
    else:
        _file(walk, page, answer.body)


def _sitemap(walk: Walk, page: Page, body: bytes) -> None:
    found = sitemap.read_sitemap(body)
    urls = [url for url in (normalised(raw, page.url) for raw in found.urls) if url]
    page.kind = Page.Kind.SITEMAP
    if found.is_index:
        _add_sitemaps(walk, page, urls)
    else:
        frontier.add(walk, urls, depth=page.depth + 1)
    if found.is_broken:
        page.links = list(dict.fromkeys([*urls, *page.links]))[: sitemap.MOST_URLS]
        raise SitemapBroken
    if page.links and not urls:
        raise SitemapEmpty
    page.links, page.content_hash = urls, fingerprint(body)
    _end(page, "")


def _page(walk: Walk, page: Page, reading: Reading, head: Head) -> None:
    page.kind = Page.Kind.PAGE
    page.links = [url for url in _followed(head) if walk.extent.is_own_host(url)]
    frontier.add(walk, page.links, depth=page.depth + 1)
    if head.noindex or not walk.extent.wants(page.url):
        code = "noindex" if head.noindex else "excluded"
        walk.count("skipped", code)
        _end(page, code)
    elif canonical := _other_address(walk, page, head):
        frontier.add(walk, [canonical], depth=page.depth)
        walk.count("skipped", "canonical")
        page.alias_of = canonical
        _end(page, "canonical")
    elif reading.content is not None:
        _content(walk, page, reading.content)
    else:
        raise reading.error or ParsingError()


def _followed(head: Head) -> Sequence[str]:
    return (head.refresh, *head.links) if head.refresh and not head.nofollow else head.links


def _other_address(walk: Walk, page: Page, head: Head) -> str | None:
    """The address that the page names as its own, if that can be crawled and is not in doubt."""
    named = head.canonical
    if named is None or page.alone or walk.extent.refusal(named):
        return None
    row = walk.seen().filter(url=named).only("code", "alias_of").first()
    return None if row and row.code in DIRECTIONS and row.alias_of == page.url else named


def _content(walk: Walk, page: Page, content: Content) -> None:
    page.charset, page.boilerplate_removed = content.charset[:40], content.boilerplate_removed
    if _known(walk, page, fingerprint(content.whole)):
        return
    page.content, page.blocks = packed(content.whole), list(content.keys)
    page.state, page.code, page.alias_of = Page.State.HELD, "", ""
    if walk.repeated is not None:
        _delivered(walk, page, lambda: deliver(walk, page, content.title, content.blocks))


def _file(walk: Walk, page: Page, body: bytes) -> None:
    if not walk.extent.wants(page.url):
        walk.count("skipped", "excluded")
        _end(page, "excluded")
        return
    page.kind, page.links = Page.Kind.FILE, []
    if not _known(walk, page, fingerprint(body)):
        _delivered(walk, page, lambda: deliver_file(walk, page, body))


def _known(walk: Walk, page: Page, content: str) -> bool:
    """True when there is nothing to do: the content is what it was, or another page's."""
    is_same = page.content_hash == content
    page.content_hash = content
    if is_same and page.document_id and not page.code:
        walk.sync.unchanged += 1
        _end(page, "")
        return True
    if twin := _twin(walk, page, content):
        walk.count("skipped", "duplicate")
        page.alias_of = twin
        _end(page, "duplicate")
        return True
    if page.document_id:
        walk.sync.changed += 1
    else:
        walk.sync.added += 1
    return False


def _twin(walk: Walk, page: Page, content: str) -> str | None:
    """The address whose document says the same already, the shortest of them."""
    with connection.cursor() as cursor:
        cursor.execute(
            _TWINS,
            {
                "tenant": walk.website.tenant_id,
                "website": walk.website.pk,
                "content": content,
                "page": page.pk,
                "sync": walk.sync.number,
                "alone": page.alone,
            },
        )
        found = sorted((url for (url,) in cursor), key=lambda url: (len(url), url))
    return found[0] if found else None


def _delivered(walk: Walk, page: Page, act: Callable[[], None]) -> None:
    try:
        act()  # `receive` has a savepoint of its own
    except DolphyError as error:
        walk.count("failed", error.code)
        walk.because(PAGES_FAILED)
        _end(page, error.code)
    else:
        _end(page, "")


def _retry_after(headers: Mapping[str, str], tries: int) -> float:
    """Seconds that the server asks for, in either of the two forms; else our own backoff."""
    value = headers.get("retry-after", "").strip()
    if value.isdigit():
        return float(min(int(value), 300))
    try:
        moment = email.utils.parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return BACKOFF_SECONDS * 2 ** max(0, tries - 1)
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, min(300.0, (moment - datetime.now(UTC)).total_seconds()))
