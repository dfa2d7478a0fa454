-- Documents of one agent go: no search finds them any more, no worker goes on with them, and no
-- website has a page for them. Their own rows, with what is large, wait for the purge. The agent's
-- indexes and the documents are locked already.
WITH removed AS (
    UPDATE ingestion_document
    SET removed_at = now(), enabled = false
    WHERE tenant_id = %(tenant)s AND agent_id = %(agent)s AND id = ANY(%(documents)s)
    RETURNING id
),
unindexed AS (
    DELETE FROM ingestion_indexedpassage AS row
    USING removed, ingestion_passage AS passage
    WHERE passage.document_id = removed.id
        AND passage.tenant_id = %(tenant)s
        AND passage.agent_id = %(agent)s
        AND row.passage_id = passage.id
        AND row.tenant_id = %(tenant)s
    RETURNING row.index_id, row.enabled
),
counted AS (
    UPDATE ingestion_index AS index
    SET passages = greatest(0, passages - found.enabled)
    FROM (
        SELECT index_id, count(*) FILTER (WHERE enabled) AS enabled FROM unindexed GROUP BY index_id
    ) AS found
    WHERE index.id = found.index_id AND index.tenant_id = %(tenant)s
),
ended AS (
    UPDATE ingestion_ingestionjob AS job
    SET state = 'cancelled', lease = NULL, lease_until = NULL, finished_at = now()
    FROM removed
    WHERE job.document_id = removed.id
        AND job.tenant_id = %(tenant)s
        AND job.state IN ('queued', 'running', 'paused')
),
forgotten AS (
    DELETE FROM ingestion_page AS page
    USING removed
    WHERE page.document_id = removed.id AND page.tenant_id = %(tenant)s
)
SELECT count(*) FROM removed
