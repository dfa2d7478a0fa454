"""Celery: how work leaves the web process.

Messages carry ids only; the state of the work lives in its job row. A message is acknowledged
after the work, so a killed worker's message is delivered again, and the job's conditional start
makes the second delivery harmless. A worker reads the queues in turn: documents by the thousand do
not keep the sweep, nor a website, from being served.
"""

import os

from celery import Celery
from celery.schedules import crontab
from celery.signals import task_prerun, worker_ready
from kombu import Exchange, Queue
from kombu.exceptions import OperationalError

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dolphy.settings")

from django.conf import settings
from django.db import close_old_connections

from dolphy import stopping  # noqa: F401 - its signals

DOCUMENTS, UPKEEP = "documents", "upkeep"

app = Celery("dolphy")
app.conf.update(
    broker_url=settings.REDIS_URL.replace("unix://", "redis+socket://"),
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "visibility_timeout": 3600,
        # An upload must not wait for a broker that is down: its job keeps, and the sweep sends it.
        "max_retries": 1,
        "interval_start": 0,
        "interval_step": 0.1,
        "interval_max": 0.1,
    },
    task_ignore_result=True,
    task_acks_late=True,
    task_reject_on_worker_lost=True,
    task_serializer="json",
    accept_content=["json"],
    task_default_queue="ingestion",
    task_queues=[
        Queue(name, Exchange(name), routing_key=name)  # sharing one would copy each message to all
        for name in ("ingestion", DOCUMENTS, UPKEEP)
    ],
    task_routes={
        "ingestion.tasks.ingest_document": DOCUMENTS,
        "ingestion.tasks.*": UPKEEP,
        "ingestion.crawl.tasks.sweep_websites": UPKEEP,
    },
    worker_prefetch_multiplier=1,
    worker_max_memory_per_child=550_000,  # kilobytes: a child above this is replaced between tasks
    worker_hijack_root_logger=False,
    CELERY_DB_REUSE_MAX=1_000,  # tasks on one connection: opening it took longer than a page's SQL
    timezone="UTC",
    beat_schedule={
        "sweep": {"task": "ingestion.tasks.sweep", "schedule": 30.0},
        "websites": {"task": "ingestion.crawl.tasks.sweep_websites", "schedule": 30.0},
        "probe nightly": {
            "task": "ingestion.tasks.probe_nightly",
            "schedule": crontab(hour="3", minute="20"),
        },
        "probe doubtful": {"task": "ingestion.tasks.probe_doubtful", "schedule": 600.0},
        "remove retired indexes": {
            "task": "ingestion.tasks.remove_retired_indexes",
            "schedule": 60.0,
        },
    },
)
app.autodiscover_tasks()
app.autodiscover_tasks(["ingestion.crawl"])


@task_prerun.connect
def check_connection(**_: object) -> None:
    """The connection that the last task left is tried before use, and replaced if it died."""
    close_old_connections()


@worker_ready.connect
def probe_at_start(**_: object) -> None:
    """A worker that starts may have brought another embedder with it."""
    app.send_task("ingestion.tasks.probe_all_spaces", expires=600)


def workers_answer(seconds: float) -> bool:
    """Whether any worker answers a ping within that time; False as well without a broker."""
    try:
        return bool(app.control.ping(timeout=seconds))
    except OperationalError:
        return False
