"""Quotas: how many documents, bytes and passages a tenant may keep.

The tenant's row is locked while it is counted and until what was counted is written, so two uploads
at once cannot both take the last place. A tenant without bounds is neither locked nor counted.
Whoever locks more locks the tenant first, then indexes, then documents.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass

from django.conf import settings
from django.db import connection

from ingestion.errors import QuotaBytes, QuotaDocuments, QuotaPassages
from ingestion.models import Document
from tenants.models import Tenant

_USED = """
    SELECT count(*), coalesce(sum(greatest(document.size, coalesce(job.size, 0))), 0)::bigint,
        coalesce(sum(document.passage_count), 0)::bigint
    FROM ingestion_document AS document
    LEFT JOIN (
        SELECT document_id, max(size) AS size
        FROM ingestion_ingestionjob
        WHERE tenant_id = %(tenant)s AND file <> '' AND state <> 'succeeded'
        GROUP BY document_id
    ) AS job ON job.document_id = document.id
    WHERE document.tenant_id = %(tenant)s AND document.id IS DISTINCT FROM %(but)s
        AND document.removed_at IS NULL
"""

_BOUNDS = "SELECT max_documents, max_bytes, max_passages FROM tenants_tenant WHERE id = %s"


@dataclass(frozen=True)
class Amounts:
    """Documents, bytes and passages; in a quota, None is no bound."""

    documents: int | None
    bytes: int | None
    passages: int | None


def quota_of(tenant: uuid.UUID, *, locked: bool = False) -> Amounts:
    """What this tenant may keep: its own bounds, else the installation's. Raises DoesNotExist.

    One plain statement: it is asked three times for a document.
    """
    with connection.cursor() as cursor:
        cursor.execute(_BOUNDS + (" FOR NO KEY UPDATE" if locked else ""), [tenant])
        found = cursor.fetchone()
    if found is None:
        raise Tenant.DoesNotExist
    documents, size, passages = found
    return Amounts(
        _bound(documents, settings.QUOTA_DOCUMENTS),
        _bound(size, settings.QUOTA_BYTES),
        _bound(passages, settings.QUOTA_PASSAGES),
    )


def used(tenant: uuid.UUID, *, but: uuid.UUID | None = None) -> Amounts:
    """What it keeps, one document left out. A version at work counts like the one it replaces,
    whichever is larger."""
    with connection.cursor() as cursor:
        cursor.execute(_USED, {"tenant": tenant, "but": but})
        return Amounts(*cursor.fetchone())


def hold(tenant: uuid.UUID) -> Amounts | None:
    """Lock the tenant's row until the transaction ends; its quota, or None when it has no bounds.

    Without bounds nothing is locked.
    """
    if quota_of(tenant) == Amounts(None, None, None):
        return None
    return quota_of(tenant, locked=True)


def check_upload(document: Document, size: int, quota: Amounts | None) -> None:
    """Raises what a new version of this size exceeds. The quota is from `hold`."""
    if quota is None:
        return
    others = used(document.tenant_id, but=document.pk)
    known = document.passage_count > 0
    if not known and _exceeds(quota.documents, others.documents, 1):
        raise QuotaDocuments(_said(quota.documents, others.documents), limit=quota.documents)
    if size > document.size and _exceeds(quota.bytes, others.bytes, size):
        raise QuotaBytes(_said(quota.bytes, others.bytes), limit=quota.bytes)
    if not known and _exceeds(quota.passages, others.passages, 1):
        raise QuotaPassages(_said(quota.passages, others.passages), limit=quota.passages)


def check_passages(document: Document, count: int, quota: Amounts | None = None) -> None:
    """Raises `QuotaPassages` when the document may not have so many passages.

    Without a quota from `hold` it is asked for here, and nothing is locked: a first look, before
    anything is paid for. A version with fewer passages than the last is always let in.
    """
    bound = (quota or quota_of(document.tenant_id)).passages
    if bound is None or count <= document.passage_count:
        return
    others = used(document.tenant_id, but=document.pk)
    if _exceeds(bound, others.passages, count):
        said = f"This document has {count:,}. {_said(bound, others.passages)}"
        raise QuotaPassages(said, limit=bound)


def _bound(own: int | None, default: int) -> int | None:
    return own if own is not None else (default or None)


def _exceeds(bound: int | None, kept: int | None, more: int) -> bool:
    return bound is not None and (kept or 0) + more > bound


def _said(bound: int | None, kept: int | None) -> str:
    return f"The limit is {bound or 0:,}, and {kept or 0:,} are kept."
