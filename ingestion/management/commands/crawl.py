"""`manage.py crawl TENANT/AGENT URL`: a website into an agent's documents, and again, and out."""

from __future__ import annotations

import shlex
import time
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management import BaseCommand, CommandError
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from dolphy.celery import workers_answer
from dolphy.errors import DolphyError, NotFound
from ingestion.crawl import websites
from ingestion.crawl.crawl import crawl
from ingestion.crawl.finish import START_FAILED
from ingestion.crawl.models import Sync, Website
from ingestion.crawl.normalise import required
from tenants.models import Agent
from tenants.scope import agent_named

WORKER_SECONDS = 1.0
POLL_SECONDS = 0.5
LONGEST_NAP = 5.0
INCLUDE = (
    "only pages whose path matches, such as '/help/*' or '*.pdf' (with :// in it: whose whole "
    "address matches); may be given several times"
)
KEPT = (
    "The website stays registered. To remove it with its documents: manage.py crawl {} {} --remove"
)
EXCLUDE = "no pages that match; wins over --include; may be given several times"


class Command(BaseCommand):
    help = "Crawl a website, or sync one again, and wait until it is done."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", metavar="TENANT/AGENT")
        parser.add_argument("url", help="a page to start from, or a sitemap")
        parser.add_argument("--include", action="append", metavar="PATTERN", help=INCLUDE)
        parser.add_argument("--exclude", action="append", metavar="PATTERN", help=EXCLUDE)
        parser.add_argument("--pages", type=int, dest="page_limit", help="at most so many pages")
        parser.add_argument(
            "--depth", type=int, dest="depth_limit", help="at most so many links away"
        )
        parser.add_argument("--delay", type=float, help="seconds between two requests")
        parser.add_argument("--every", type=int, dest="every_hours", help="sync again after hours")
        parser.add_argument("--remove", action="store_true", help="take the website out again")
        parser.add_argument("--no-wait", action="store_true", help="leave the rest to workers")

    def handle(self, *args: Any, **options: Any) -> None:
        console = Console(file=self.stdout)  # type: ignore[arg-type]
        names = ("include", "exclude", "page_limit", "depth_limit", "delay", "every_hours")
        settings = {name: options[name] for name in names if options[name] is not None}
        try:
            agent = agent_named(options["agent"])
            if options["remove"]:
                console.print(_remove(agent, options["url"]))
                return
            sync = _begin(agent, options["url"], settings)
        except DolphyError as error:
            raise CommandError(f"{error.code}: {error.message}") from error
        if options["no_wait"]:
            console.print(f"Sync {sync.number} of {escape(sync.website.url)} is queued.")
            return
        _follow(sync, console)
        console.print(_summary(sync))
        if sync.state in {Sync.State.FAILED, Sync.State.CANCELLED} or START_FAILED in sync.reasons:
            why = f"{sync.state}: {sync.error_code} {sync.error}".strip()
            url = shlex.quote(sync.website.url)
            raise CommandError(f"{why}\n{KEPT.format(options['agent'], url)}")


def _begin(agent: Agent, url: str, settings: dict[str, Any]) -> Sync:
    """The sync at work on this website, or a new one; the website is made when it is new."""
    start = websites.start_of(url)
    website = Website.objects.filter(tenant=agent.tenant_id, agent=agent, url=start).first()
    if website is None:
        website = websites.create(agent, url, **settings)
    else:
        websites.change(website, **settings)
    syncs = Sync.objects.select_related("website").filter(tenant=website.tenant_id, website=website)
    return syncs.filter(state__in=Sync.OPEN).first() or websites.sync(website)


def _remove(agent: Agent, url: str) -> str:
    """Raises `NotFound`, `UrlRefused`."""
    found = Website.objects.filter(tenant=agent.tenant_id, agent=agent, url=required(url)).first()
    if found is None:
        raise NotFound("The agent has no such website.")
    websites.remove(found)
    return f"{escape(found.url)} was removed, with its documents."


def _follow(sync: Sync, console: Console) -> None:
    if workers_answer(WORKER_SECONDS):
        nap: Callable[[], float] = lambda: POLL_SECONDS  # noqa: E731
    else:
        console.print("No worker answers, so the work is done here; its documents wait for one.")
        nap = lambda: min(crawl(sync.pk) or 0.0, LONGEST_NAP)  # noqa: E731
    with console.status("") as status:
        while not sync.is_finished and sync.state != Sync.State.PAUSED:
            time.sleep(nap())
            sync.refresh_from_db()
            status.update(f"{sync.state}: {sync.fetched} of {sync.found} pages")


def _summary(sync: Sync) -> Table:
    table = Table("sync", "what", "pages", box=None, pad_edge=False)
    table.add_row(str(sync.number), f"{sync.state} {', '.join(sync.reasons)}".strip(), "")
    for name in Sync.COUNTS[:-2]:
        table.add_row("", name, str(getattr(sync, name)))
    for kind in ("failed", "skipped"):
        for code, count in sorted(getattr(sync, kind).items()):
            table.add_row("", f"{kind}: {code}", str(count))
    return table
