"""Why ingestion refuses or stops, apart from what parsing finds in a file."""

from __future__ import annotations

from collections.abc import Mapping

from dolphy.errors import DolphyError, InvalidInput, Unavailable
from ingestion.parsing.errors import ParsingError


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


class JobNotPaused(DolphyError):
    """Only a paused job is resumed."""

    code = "job_not_paused"
    status = 409


class JobSuperseded(DolphyError):
    """A newer version of the document was uploaded; this one is not tried again."""

    code = "job_superseded"
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


class DatabaseUnavailable(Unavailable):
    """The database did not answer in the middle of the work; it is done again."""

    code = "database_unavailable"


class BrokerUnavailable(Unavailable):
    """The queue does not answer; the job is kept and starts when it is back."""

    code = "broker_unavailable"


class FileMissing(DolphyError):
    """The stored file of this document is gone. Upload it again."""

    code = "file_missing"
    status = 409


class FileUnreadable(DolphyError):
    """The file cannot be read from where it lies."""

    code = "file_unreadable"
    status = 422


class PassagesRefused(DolphyError):
    """The embedder refused parts of this document; change or remove them and upload it again."""

    code = "passages_refused"
    status = 422
    NAMED = 5

    def __init__(self, refused: Mapping[int, str], where: Mapping[int, str] | None = None) -> None:
        """`refused`: reason by position of the passage; `where`: what a person finds it by."""
        self.refused = dict(refused)
        named = [
            f"Passage {position + 1}{f' ({where[position]})' if where else ''}: {reason}"
            for position, reason in sorted(self.refused.items())
        ]
        more = len(named) - self.NAMED
        super().__init__(" ".join([*named[: self.NAMED], *([f"And {more} more."] * (more > 0))]))


class QuotaExceeded(DolphyError):
    """The plan of this business does not allow more."""

    code = "quota"
    status = 403


class QuotaDocuments(QuotaExceeded):
    """This business may not keep more documents. Delete some, or ask for a larger quota."""

    code = "quota_documents"


class QuotaBytes(QuotaExceeded):
    """This business may not store more bytes. Delete documents, or ask for a larger quota."""

    code = "quota_bytes"


class QuotaPassages(QuotaExceeded):
    """This business may not keep more passages. Delete documents, or ask for a larger quota."""

    code = "quota_passages"


def verdicts() -> frozenset[str]:
    """The codes that are about a document or its tenant's plan: no fault of what serves them."""
    kinds: list[type[DolphyError]] = [ParsingError, QuotaExceeded, PassagesRefused, FileUnreadable]
    found: set[str] = set()
    while kinds:
        kind = kinds.pop()
        found.add(kind.code)
        kinds += kind.__subclasses__()
    return frozenset(found)
