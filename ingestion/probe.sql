-- Passages of one index for a probe: evenly spread from the first to the last written, so that the
-- newest one is always among them. The same index gives the same passages until it changes.
WITH numbered AS (
    SELECT
        passage_id,
        row_number() OVER (ORDER BY passage_id) - 1 AS place,
        count(*) OVER () AS total
    FROM ingestion_indexedpassage
    WHERE index_id = %(index)s AND tenant_id = %(tenant)s AND agent_id = %(agent)s
),

picked AS (
    SELECT passage_id
    FROM numbered
    WHERE place IN (
        SELECT (total - 1) - step * (total - 1) / greatest(%(wanted)s - 1, 1)
        FROM generate_series(0, %(wanted)s - 1) AS step
    )
)

SELECT indexed.text_key, indexed.vector::text, document.title, passage.heading, passage.text
FROM picked
JOIN ingestion_indexedpassage AS indexed
    ON indexed.index_id = %(index)s
    AND indexed.passage_id = picked.passage_id
    AND indexed.tenant_id = %(tenant)s
JOIN ingestion_passage AS passage
    ON passage.id = picked.passage_id
    AND passage.tenant_id = %(tenant)s
    AND passage.agent_id = %(agent)s
JOIN ingestion_document AS document
    ON document.id = passage.document_id
    AND document.tenant_id = %(tenant)s
    AND document.agent_id = %(agent)s
ORDER BY picked.passage_id
