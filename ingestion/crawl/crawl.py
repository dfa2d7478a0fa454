"""Crawl: a website becomes documents, a slice at a time. Reads top to bottom.

    start → robots → take pages from the frontier → fetch → settle → … → finish

A slice lasts some seconds and is done by whoever holds the sync's lease; then the sync goes back
into the queue, so a large website does not keep a worker from the uploads of others, nor from
ending. Pages are fetched by a few threads and settled one after another in the order of the
frontier, each in a transaction that also renews the lease: a worker that dies loses nothing but its
unfinished pages, one whose sync was paused, cancelled or taken over stops at its next page.
"""

from __future__ import annotations

import logging
import time
import uuid
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from urllib.parse import urlsplit

from django.db import DatabaseError, DataError
from django.utils import timezone

from dolphy import stopping
from dolphy.errors import DolphyError, Unavailable
from ingestion.crawl import frontier, robots
from ingestion.crawl.accept import bytes_allowed
from ingestion.crawl.errors import FetchError, PageFault, SyncLost
from ingestion.crawl.fetch import Fetcher
from ingestion.crawl.finish import finish, learn_and_deliver, may_learn
from ingestion.crawl.frontier import Walk
from ingestion.crawl.models import Page, Sync
from ingestion.crawl.normalise import normalised
from ingestion.crawl.politeness import wait_for_turn
from ingestion.crawl.read import Reading, read
from ingestion.crawl.robots import Robots, origin_of
from ingestion.crawl.settle import MAX_STARTS, Refused, conditions, settle

logger = logging.getLogger(__name__)

SLICE_SECONDS = 20.0
AT_ONCE = 4
BATCH = 16
PATIENCE = 3.0  # a longer pause is waited for outside the worker
RETRY_SECONDS = 15.0
ROBOTS_TRIES = 3
MOST_NAMED_SITEMAPS = 50  # in robots.txt
Task = Refused | FetchError | Future[Reading | FetchError]


def crawl(sync_id: uuid.UUID | str, *, fetcher: Fetcher | None = None) -> float | None:
    """Work on a sync for one slice. Returns after how many seconds the next one is due, or None
    when the sync has ended, is paused, or is somebody else's."""
    sync = Sync.objects.select_related("website", "agent__tenant").filter(pk=sync_id).first()
    if sync is None or not sync.start():
        return None
    try:
        wait = _slice(Walk.of(sync), fetcher or Fetcher())
    except SyncLost:
        return None
    except Unavailable as error:
        wait = RETRY_SECONDS
        _release(sync, wait, error)
    except DatabaseError:
        raise  # the lease runs out, and the sync goes on elsewhere
    except Exception as error:
        logger.exception("Sync %s failed", sync.pk)
        known = error if isinstance(error, DolphyError) else DolphyError(type(error).__name__)
        sync.finish(Sync.State.FAILED, code=known.code, message=known.message)
        wait = None
    return wait


def _slice(walk: Walk, fetcher: Fetcher) -> float | None:
    end = time.monotonic() + SLICE_SECONDS
    wait = _begin(walk, fetcher)
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="fetch") as threads:
        while not (wait or stopping.asked()) and time.monotonic() < end:
            pages = frontier.take(walk, _batch(walk))
            wait = _work(walk, pages, fetcher, threads)
            if may_learn(walk):
                learn_and_deliver(walk)
            if not pages:
                wait = frontier.next_moment(walk)
                if wait is None and finish(walk):
                    return None
    _release(walk.sync, wait or 0.0)
    return wait or 0.0


def _begin(walk: Walk, fetcher: Fetcher) -> float | None:
    """Ask for robots.txt first; then the frontier holds the start, and sitemaps named there.

    Returns the seconds to wait when robots.txt is to be asked for again.
    """
    origin = origin_of(walk.website.url)
    found = walk.sync.robots.get(origin)
    if found is None or (found["error"] and found["tries"] < ROBOTS_TRIES):
        rules = _ask(walk, fetcher, origin, tries=found["tries"] if found else 0)
        tries = walk.sync.robots[origin]["tries"]
        if rules.error and tries < ROBOTS_TRIES:  # a refusal counts as the last try
            return float(2**tries)
    if not walk.seen().filter(url=walk.website.url).exists():
        frontier.add(walk, [walk.website.url], depth=0)
        _add_sitemaps(walk, _rules(walk, origin))
        walk.sync.report()
    return None


def _add_sitemaps(walk: Walk, rules: Robots) -> None:
    named = (normalised(url, walk.website.url) for url in rules.sitemaps)
    own = dict.fromkeys(url for url in named if url and walk.extent.is_own_host(url))
    few = frontier.few_sitemaps(walk, list(own), MOST_NAMED_SITEMAPS)
    frontier.add(walk, few, depth=0, kind=Page.Kind.SITEMAP)


def _ask(walk: Walk, fetcher: Fetcher, origin: str, *, tries: int = 0) -> Robots:
    rules = robots.ask(fetcher, origin)
    tries = ROBOTS_TRIES if rules.is_refused else tries + 1
    walk.sync.robots[origin] = {**robots.as_rows(rules), "tries": tries}
    walk.sync.report(robots=True)
    return rules


def _rules(walk: Walk, origin: str) -> Robots:
    found = walk.sync.robots[origin]
    return Robots(found["text"], found["error"])


def _delay(walk: Walk) -> float:
    return max(walk.website.delay, _rules(walk, origin_of(walk.website.url)).delay)


def _batch(walk: Walk) -> int:
    """As many pages as the pauses between them let through in a few seconds."""
    delay = _delay(walk)
    return BATCH if not delay else max(1, min(BATCH, int(PATIENCE / delay)))


def _work(
    walk: Walk, pages: list[Page], fetcher: Fetcher, threads: ThreadPoolExecutor
) -> float | None:
    """Fetch and read a few pages at once, and settle them in their order. Returns how long to wait
    when the server's pause is longer than a worker should sit through."""
    tasks: deque[tuple[Page, Task]] = deque()
    end = time.monotonic() + 2 * PATIENCE
    host, delay = urlsplit(walk.website.url).netloc, _delay(walk)
    wait = None
    for place, page in enumerate(pages):
        refusal = _refusal(walk, page, fetcher)
        patience = min(PATIENCE, end - time.monotonic())
        if refusal is None and (wait := wait_for_turn(host, delay, patience) or None):
            frontier.put_back(walk, pages[place:])
            break
        tasks.append((page, refusal or threads.submit(_fetch, fetcher, page)))
        if len(tasks) > AT_ONCE:  # no more bodies in memory than that
            _settle_first(walk, tasks)
    while tasks:
        _settle_first(walk, tasks)
    return wait


def _settle_first(walk: Walk, tasks: deque[tuple[Page, Task]]) -> None:
    page, task = tasks.popleft()
    try:
        settle(walk, page, task.result() if isinstance(task, Future) else task)
    except Exception as error:
        if not _is_of_one_page(error):
            raise
        logger.exception("Page %s could not be settled", page.url)
        if undone := walk.undone(page):
            settle(walk, undone, PageFault())


def _is_of_one_page(error: Exception) -> bool:
    """Whether a page is at fault, and not what the whole sync stands on."""
    return isinstance(error, DataError) or not isinstance(error, (DolphyError, DatabaseError))


def _refusal(walk: Walk, page: Page, fetcher: Fetcher) -> Refused | FetchError | None:
    """Why a page is not even asked for."""
    if page.tries > MAX_STARTS:
        return Refused("worker_died", is_failure=True)
    origin = origin_of(page.url)
    if origin not in walk.sync.robots:
        _ask(walk, fetcher, origin)
    rules = _rules(walk, origin)
    if rules.error:
        return Refused(rules.code, is_failure=True)
    try:
        is_allowed = page.kind == Page.Kind.SITEMAP or rules.allows(page.url)
    except Exception:
        logger.exception("Whether robots.txt allows %s cannot be told", page.url)
        return PageFault()
    return None if is_allowed else Refused("robots")


def _fetch(fetcher: Fetcher, page: Page) -> Reading | FetchError:
    try:
        return read(fetcher.fetch(page.url, bytes_allowed(page), headers=conditions(page)))
    except FetchError as error:
        return error
    except Exception:
        logger.exception("Page %s could not be read", page.url)
        return PageFault()


def _release(sync: Sync, wait: float, error: DolphyError | None = None) -> None:
    sync.release(
        until=timezone.now() + timedelta(seconds=wait) if wait else None,
        code=error.code if error else "",
        message=error.message if error else "",
    )
