"""The queue: messages that tell workers there is work.

The work itself lies in the job rows. So a lost message costs time and never a job: `send_missing`
puts messages where there are fewer than jobs to do. And a queue that does not answer is written
into the job instead of being raised: the upload stands.
"""

from __future__ import annotations

import logging
from typing import Any

from celery import Task, current_app
from django.db.models import QuerySet
from kombu.exceptions import OperationalError

from dolphy.celery import DOCUMENTS
from ingestion.errors import BrokerUnavailable
from ingestion.models import IngestionJob

logger = logging.getLogger(__name__)
State = IngestionJob.State
ONCE_MORE = {"max_retries": 1, "interval_start": 0}  # the first try may find a dead connection
AT_ONCE = 1000


def send(task: Task[Any, Any], *arguments: Any) -> bool:
    """Put one message into its queue; False, and a line in the log, when that does not answer."""
    try:
        task.apply_async(arguments, retry=True, retry_policy=ONCE_MORE)
    except OperationalError as error:
        logger.warning("%s%s was not sent: %s", task.name, arguments, error)
        return False
    return True


def enqueue(job: IngestionJob) -> bool:
    """Tell the workers that this job is there; when they cannot be told the job says so."""
    from ingestion.tasks import ingest_document

    sent = send(ingest_document, str(job.pk))
    queued = IngestionJob.objects.filter(pk=job.pk, tenant=job.tenant_id, state=State.QUEUED)
    waiting = BrokerUnavailable()
    if not sent:
        queued.update(error_code=waiting.code, error=waiting.message)
    elif job.error_code == waiting.code:
        queued.filter(error_code=waiting.code).update(error_code="", error="")
    return sent


def send_missing() -> int:
    """Send a message for each free job that has none; returns how many were sent.

    Messages that workers hold already are not seen, so a few too many may be sent; they find
    nothing to do.
    """
    sent = 0
    for job in _free()[: missing_messages()]:
        if not enqueue(job):
            break
        sent += 1
    return sent


def missing_messages() -> int:
    """By how many the jobs that are free outnumber the messages; a thousand are looked at."""
    free = _free().count()
    return max(0, free - _messages()) if free else 0


def _free() -> QuerySet[IngestionJob]:
    return IngestionJob.objects.filter(IngestionJob.free()).order_by("created_at")[:AT_ONCE]


def _messages() -> int:
    """Messages about documents that wait in the queue; 0 without a queue."""
    connection = current_app.connection_for_read()
    try:
        with connection, connection.channel() as channel:
            return int(channel.queue_declare(queue=DOCUMENTS, passive=True).message_count)
    except (*connection.connection_errors, *connection.channel_errors, OperationalError) as error:
        logger.info("The queue is not there: %s", error)
        return 0
