"""Which lexemes of a large index are common: what bounds the lexical branch.

A question's roots are looked up rarest first until enough passages are in sight, so that a question
of common words on a large agent costs no more than one on a small agent. Only lexemes above
`COMMON_FROM` passages get a row; one without a row is rare. These counts steer the work and never
enter a score, so they may be somewhat old.
"""

from __future__ import annotations

from typing import Any

from django.db import connection, transaction

from ingestion.models import Index

COMMON_FROM = 50

_COUNT = """
    INSERT INTO ingestion_commonlexeme (tenant_id, index_id, lexeme, passages)
    SELECT %(tenant)s, %(index)s, lexeme, max(passages)
    FROM (
        SELECT lexeme, count(*) AS passages
        FROM ingestion_indexedpassage, unnest(tsvector_to_array({column})) AS lexeme
        WHERE index_id = %(index)s AND tenant_id = %(tenant)s
        GROUP BY lexeme
    ) AS counted
    WHERE passages >= %(common)s
    GROUP BY lexeme
    ON CONFLICT (index_id, lexeme, tenant_id)
        DO UPDATE SET passages = greatest(ingestion_commonlexeme.passages, excluded.passages)
"""


def refresh(index: Index) -> None:
    """Count the lexemes of this index anew, in one transaction."""
    values: dict[str, Any] = {"tenant": index.tenant_id, "index": index.pk, "common": COMMON_FROM}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM ingestion_commonlexeme "
            "WHERE index_id = %(index)s AND tenant_id = %(tenant)s",
            values,
        )
        for column in ("stemmed", "plain"):
            cursor.execute(_COUNT.format(column=column), values)
        Index.objects.filter(pk=index.pk, tenant=index.tenant_id).update(
            passages_at_statistics=index.passages
        )
