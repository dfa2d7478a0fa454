"""Why ingestion refuses or stops, apart from what parsing finds in a file."""

from __future__ import annotations

from dolphy.errors import DolphyError, InvalidInput, Unavailable


class TooLarge(DolphyError):
    """The file is larger than this installation accepts."""

    code = "too_large"
    status = 413


class BadName(InvalidInput):
    """A document needs a name and an address of at most 1,000 characters."""

    code = "bad_name"


class JobNotFinished(DolphyError):
    """The job is still at work: wait for it, or cancel it first."""

    code = "job_not_finished"
    status = 409


class JobLost(DolphyError):
    """The job was cancelled, or taken over by another worker."""

    code = "job_lost"
    status = 409


class WorkerDied(DolphyError):
    """The worker stopped in the middle of this document, again and again."""

    code = "worker_died"


class IndexRetired(Unavailable):
    """Another index has taken this one's place meanwhile; the work is done again for that one."""

    code = "index_retired"


class SpaceMismatch(Unavailable):
    """This agent's passages were embedded by something else than what embeds questions now."""

    code = "space_mismatch"


class BrokerUnavailable(Unavailable):
    """The queue does not answer; the job is kept and starts when it is back."""

    code = "broker_unavailable"
