"""Cancel: a job that has not ended is ended; what its document said before goes on being served."""

from __future__ import annotations

from dolphy.errors import DolphyError
from ingestion.embed import forget
from ingestion.models import IngestionJob


class JobFinished(DolphyError):
    """The job has ended already."""

    code = "job_finished"
    status = 409


def cancel(job: IngestionJob) -> None:
    """End the job; its worker notices at its next report. Raises `JobFinished`."""
    cancelled = job.cancel()
    job.refresh_from_db()
    if not cancelled:
        raise JobFinished(state=job.state)
    forget(job)
