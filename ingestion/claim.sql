-- Whose turn is it? The oldest free job of the tenant that was served longest ago, locked; a job
-- that another worker is just taking is passed over. A job is free when it is queued and due, or
-- running on a lease that ran out.
WITH waiting AS MATERIALIZED (
    SELECT tenant.id
    FROM tenants_tenant AS tenant
    LEFT JOIN ingestion_turn AS turn ON turn.tenant_id = tenant.id
    WHERE EXISTS (
        SELECT 1
        FROM ingestion_ingestionjob AS job
        WHERE job.tenant_id = tenant.id
            AND job.state IN ('queued', 'running')
            AND (
                job.state = 'queued' AND (job.not_before IS NULL OR job.not_before <= %(now)s)
                OR job.state = 'running' AND job.lease_until < %(now)s
            )
    )
    ORDER BY turn.served_at NULLS FIRST, tenant.id
)
SELECT next.id
FROM waiting
CROSS JOIN LATERAL (
    SELECT job.id
    FROM ingestion_ingestionjob AS job
    WHERE job.tenant_id = waiting.id
        AND job.state IN ('queued', 'running')
        AND (
            job.state = 'queued' AND (job.not_before IS NULL OR job.not_before <= %(now)s)
            OR job.state = 'running' AND job.lease_until < %(now)s
        )
    ORDER BY job.created_at, job.id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
) AS next
LIMIT 1
