"""What is done to a website and its syncs: create, change, sync, pause, resume, cancel, remove."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone
from kombu.exceptions import OperationalError

from dolphy.errors import DolphyError, InvalidInput, NotFound
from ingestion.crawl.addresses import Allowed, checked, resolve
from ingestion.crawl.errors import HostNotFound, SyncAtWork, SyncFinished, UrlRefused
from ingestion.crawl.fetch import split
from ingestion.crawl.models import BOUNDS, MOST_PATTERNS, Page, Sync, Website
from ingestion.crawl.normalise import check_patterns, required
from ingestion.errors import BrokerUnavailable
from ingestion.removal import hide
from tenants.models import Agent

logger = logging.getLogger(__name__)


class WebsiteExists(DolphyError):
    """The agent has this website already."""

    code = "website_exists"
    status = 409


class BadSetting(InvalidInput):
    """A setting of a website is out of bounds."""


def create(agent: Agent, url: str, **settings: Any) -> Website:
    """A website and its first sync. Raises `UrlRefused`, `AddressRefused`, `BadPattern`,
    `BadSetting`, `WebsiteExists`."""
    settings = _checked(settings)
    url = start_of(url)
    try:
        with transaction.atomic():
            website = Website.objects.create(
                tenant_id=agent.tenant_id, agent=agent, url=url, **settings
            )
    except IntegrityError as error:
        if "website_url_once" in str(error):
            raise WebsiteExists from error
        raise
    sync(website)
    return website


def change(website: Website, **settings: Any) -> None:
    """New settings, from the next sync on. Raises `BadPattern`, `BadSetting`, `NotFound`."""
    settings = _checked(settings)
    if "every_hours" in settings:
        hours = settings["every_hours"]
        settings["next_sync_at"] = timezone.now() + timedelta(hours=hours) if hours else None
    if settings and not _row(website).update(**settings):
        raise NotFound("No such website.")
    website.refresh_from_db()


def sync(website: Website) -> Sync:
    """Begin a sync. Raises `SyncAtWork` while another is, `NotFound`."""
    with transaction.atomic():
        if not _row(website).select_for_update(no_key=True).first():
            raise NotFound("No such website.")
        syncs = Sync.objects.filter(tenant=website.tenant_id, website=website.pk)
        if syncs.filter(state__in=Sync.OPEN).exists():
            raise SyncAtWork
        last = syncs.aggregate(last=Max("number"))["last"] or 0
        made = Sync.objects.create(
            tenant_id=website.tenant_id,
            agent_id=website.agent_id,
            website=website,
            number=last + 1,
        )
        _row(website).filter(next_sync_at__isnull=False).update(
            next_sync_at=timezone.now() + timedelta(hours=website.every_hours or 24)
        )
        transaction.on_commit(lambda: enqueue(made))
    return made


def pause(sync: Sync) -> None:
    """Hold a sync where it is. Raises `SyncFinished`."""
    if not sync.pause() and sync.is_finished:
        raise SyncFinished(state=sync.state)


def resume(sync: Sync) -> None:
    """Let a paused sync go on. Raises `SyncFinished`."""
    if sync.resume():
        enqueue(sync)
    elif sync.is_finished:
        raise SyncFinished(state=sync.state)


def cancel(sync: Sync) -> None:
    """End a sync; what it has brought stays, nothing is removed. Raises `SyncFinished`."""
    if not sync.cancel():
        raise SyncFinished(state=sync.state)


def remove(website: Website) -> None:
    """Delete a website with its documents and its history. Raises `NotFound`.

    The documents are out of every answer when this returns; workers purge what is large of them.
    A sync at work is cancelled first, so that the page it is settling cannot bring a document back.
    """
    for at_work in Sync.objects.filter(
        tenant=website.tenant_id, website=website.pk, state__in=Sync.OPEN
    ):
        at_work.cancel()
    pages = Page.objects.filter(tenant=website.tenant_id, website=website.pk)
    with transaction.atomic():
        if not _row(website).select_for_update().first():
            raise NotFound("No such website.")
        of_pages = pages.filter(document__isnull=False).values_list("document_id", flat=True)
        hide(website.tenant_id, website.agent_id, of_pages)
        _row(website).delete()


def enqueue(sync: Sync, seconds: float = 0.0) -> None:
    """Tell the workers. When the queue does not answer, the sweep sends the sync later."""
    from ingestion.crawl.tasks import crawl_website

    try:
        crawl_website.apply_async([str(sync.pk)], countdown=seconds or None, retry=False)
    except OperationalError as error:
        logger.warning("Sync %s waits for the queue: %s", sync.pk, error)
        waiting = BrokerUnavailable()
        Sync.objects.filter(pk=sync.pk, tenant=sync.tenant_id, state=Sync.State.QUEUED).update(
            error_code=waiting.code, error=waiting.message
        )


def start_of(url: str) -> str:
    """The address to start from as it is kept, refused early when it cannot be crawled.

    Raises `UrlRefused`, `AddressRefused`. A name that is not known now may be when the sync comes.
    """
    if "@" in url.split("?")[0].split("#")[0].partition("://")[2].split("/")[0]:
        raise UrlRefused
    url = required(url)
    parts, port = split(url)
    allowed = Allowed.from_environment()
    with suppress(HostNotFound):
        checked(parts.hostname or "", port, resolver=resolve, allowed=allowed)
    return url


def _checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    for name in ("include", "exclude"):
        patterns = list(settings.get(name, ()))
        check_patterns(patterns)
        if len(patterns) > MOST_PATTERNS:
            raise BadSetting(f"{name} may have {MOST_PATTERNS} patterns.")
    for name, (least, most) in BOUNDS.items():
        value = settings.get(name)
        if value is not None and not least <= value <= most:
            raise BadSetting(f"{name} must be from {least} to {most:,}; it is {value}.")
    return dict(settings)


def _row(website: Website) -> Any:
    return Website.objects.filter(pk=website.pk, tenant=website.tenant_id, agent=website.agent_id)
