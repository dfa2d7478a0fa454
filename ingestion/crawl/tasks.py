"""What Celery runs for websites. Messages carry ids; the sync's row decides."""

from __future__ import annotations

import logging
from datetime import timedelta

from celery import shared_task
from django.db.models import Q
from django.utils import timezone

from dolphy.errors import DolphyError
from ingestion.crawl.crawl import crawl
from ingestion.crawl.models import Sync, Website
from ingestion.crawl.websites import enqueue, sync

logger = logging.getLogger(__name__)
UNHEARD = timedelta(seconds=60)


@shared_task(expires=86_400)
def crawl_website(sync_id: str) -> None:
    """One slice of a sync; the next one is a message of its own."""
    wait = crawl(sync_id)
    if wait is not None:
        row = Sync.objects.filter(pk=sync_id, state=Sync.State.QUEUED).first()
        if row is not None:
            enqueue(row, wait)


@shared_task(expires=60)
def sweep_websites() -> int:
    """Begin the syncs that are due, and send again those that nobody works on."""
    now = timezone.now()
    for website in Website.objects.filter(next_sync_at__lte=now).order_by("next_sync_at")[:100]:
        try:
            sync(website)
        except DolphyError as error:  # one is at work still; the next is due when it has ended
            logger.info("Website %s is not synced now: %s", website.pk, error.code)
    due = Q(not_before=None) | Q(not_before__lte=now - UNHEARD)
    forgotten = Sync.objects.filter(
        Q(due, state=Sync.State.QUEUED, heard_at__lt=now - UNHEARD)
        | Q(state=Sync.State.RUNNING, lease_until__lt=now)
    ).order_by("created_at")[:1000]
    for row in forgotten:
        enqueue(row)
    return len(forgotten)
