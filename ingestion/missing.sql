-- Passages that the agent's serving index holds and the index that is being built does not, in the
-- order in which they were written, after a given one.
SELECT
    passage.id,
    passage.document_id,
    passage.position,
    document.title,
    passage.heading,
    passage.text
FROM ingestion_indexedpassage AS serving
JOIN ingestion_passage AS passage
    ON passage.id = serving.passage_id
    AND passage.tenant_id = %(tenant)s
    AND passage.agent_id = %(agent)s
JOIN ingestion_document AS document
    ON document.id = passage.document_id
    AND document.tenant_id = %(tenant)s
    AND document.agent_id = %(agent)s
WHERE serving.index_id = %(serving)s
    AND serving.tenant_id = %(tenant)s
    AND serving.agent_id = %(agent)s
    AND serving.passage_id > %(after)s
    AND NOT EXISTS (
        SELECT
        FROM ingestion_indexedpassage AS built
        WHERE built.index_id = %(index)s
            AND built.passage_id = serving.passage_id
            AND built.tenant_id = %(tenant)s
    )
ORDER BY serving.passage_id
LIMIT %(wanted)s
