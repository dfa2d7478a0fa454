"""The account: what a tenant's embeddings cost, a row per tenant, space and day."""

from __future__ import annotations

import uuid

from django.db import connection

from dolphy.embedding.meter import Use


def charge(tenant: uuid.UUID, space: int, use: Use, *, texts: int) -> None:
    """Add to today's row (UTC). An embedder that costs nothing is not written down."""
    if not use.requests:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO ingestion_embeddinguse AS account
                (tenant_id, space_id, day, requests, texts, tokens)
            VALUES (
                %(tenant)s, %(space)s, (now() AT TIME ZONE 'UTC')::date,
                %(requests)s, %(texts)s, %(tokens)s
            )
            ON CONFLICT (tenant_id, space_id, day) DO UPDATE SET
                requests = account.requests + excluded.requests,
                texts = account.texts + excluded.texts,
                tokens = account.tokens + excluded.tokens
            """,
            {
                "tenant": tenant,
                "space": space,
                "requests": use.requests,
                "texts": texts,
                "tokens": use.tokens,
            },
        )
