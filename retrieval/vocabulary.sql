-- For each word or beginning, folded, that the agent's enabled documents hold: the spelling that they
-- use most, and in how many it stands (once a document and spelling), so many at most.
SELECT DISTINCT ON (wanted.folded) wanted.folded, spelling.surface, spelling.documents
FROM unnest(%(folded)s::text[]) AS wanted (folded)
CROSS JOIN LATERAL (
    SELECT surface, sum(count) AS times, (sum(count(*)) OVER ())::int AS documents
    FROM (
        SELECT word.surface, word.count
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
    GROUP BY surface
) AS spelling
ORDER BY wanted.folded, spelling.times DESC, spelling.surface
