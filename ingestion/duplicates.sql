-- Which other documents of the agent say what this one says? Its passages are matched by the key of
-- their normalised text. A text that stands in hundreds of documents only proposes the first of
-- them, so that a footer costs no more than a sentence, and of a book a thousand texts propose, drawn
-- by their hash: whoever holds half of it is among those. The few proposed are counted exactly.
WITH own AS MATERIALIZED (
    SELECT row.same_text, count(*) AS passages
    FROM ingestion_passage AS passage
    JOIN ingestion_indexedpassage AS row ON row.index_id = %(index)s
        AND row.passage_id = passage.id AND row.tenant_id = passage.tenant_id
    WHERE passage.tenant_id = %(tenant)s AND passage.agent_id = %(agent)s
        AND passage.document_id = %(document)s
    GROUP BY row.same_text
),
proposed AS MATERIALIZED (
    SELECT found.document_id
    FROM (SELECT same_text, passages FROM own ORDER BY same_text LIMIT %(texts)s) AS own
    CROSS JOIN LATERAL (
        SELECT DISTINCT other.document_id, other.uri
        FROM (
            SELECT copy.document_id, copy.uri
            FROM ingestion_indexedpassage AS copy
            WHERE copy.index_id = %(index)s AND copy.same_text = own.same_text
                AND copy.tenant_id = %(tenant)s AND copy.document_id <> %(document)s
            LIMIT %(copies)s
        ) AS other
    ) AS found
    GROUP BY found.document_id
    ORDER BY sum(own.passages) DESC, min(found.uri)
    LIMIT %(most)s
),
counted AS (
    SELECT proposed.document_id, sum(own.passages) AS passages
    FROM proposed
    CROSS JOIN own
    CROSS JOIN LATERAL (
        SELECT 1
        FROM ingestion_indexedpassage AS copy
        WHERE copy.index_id = %(index)s AND copy.same_text = own.same_text
            AND copy.document_id = proposed.document_id AND copy.tenant_id = %(tenant)s
        LIMIT 1 -- a lookup in the index; as EXISTS it became a scan of the whole index of the agent
    ) AS found
    GROUP BY proposed.document_id
)
SELECT document.id, document.uri, document.title, document.enabled, counted.passages::integer
FROM counted
JOIN ingestion_document AS document ON document.id = counted.document_id
    AND document.tenant_id = %(tenant)s AND document.agent_id = %(agent)s
WHERE counted.passages * 2 > (SELECT sum(passages) FROM own)
ORDER BY counted.passages DESC, document.uri
