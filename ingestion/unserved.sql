-- Does another tenant have a job that is due, and no worker on any of its jobs?
SELECT EXISTS (
    SELECT 1
    FROM tenants_tenant AS tenant
    WHERE tenant.id <> %(tenant)s
        AND tenant.id NOT IN (
            SELECT running.tenant_id
            FROM ingestion_ingestionjob AS running
            WHERE running.state = 'running' AND running.lease_until >= %(now)s
        )
        AND EXISTS (
            SELECT 1
            FROM ingestion_ingestionjob AS job
            WHERE job.tenant_id = tenant.id
                AND job.state IN ('queued', 'running')
                AND job.state = 'queued'
                AND (job.not_before IS NULL OR job.not_before <= %(now)s)
        )
)
