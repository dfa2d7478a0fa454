-- How often the agent's enabled documents hold each word or beginning, counted in so many of them at
-- most. What they do not hold has no row.
SELECT wanted.folded, held.times
FROM unnest(%(folded)s::text[]) AS wanted (folded)
CROSS JOIN LATERAL (
    SELECT sum(count) AS times
    FROM (
        SELECT word.count
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
WHERE held.times IS NOT NULL
