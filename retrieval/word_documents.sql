-- How often each word or beginning stands in the vocabulary of the agent's enabled documents, once a
-- document and spelling, so often at most. What stands in none has no row.
SELECT wanted.folded, held.documents
FROM unnest(%(folded)s::text[]) AS wanted (folded)
CROSS JOIN LATERAL (
    SELECT count(*) AS documents
    FROM (
        SELECT
        FROM ingestion_word AS word
        JOIN ingestion_document AS document
            ON document.id = word.document_id
            AND document.tenant_id = word.tenant_id
            AND document.agent_id = word.agent_id
            AND document.enabled
        WHERE word.tenant_id = %(tenant)s
            AND word.agent_id = %(agent)s
            AND word.folded = wanted.folded
        LIMIT {most}
    ) AS written
) AS held
WHERE held.documents > 0
