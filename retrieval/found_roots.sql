-- Whether any enabled passage of the index holds each root, in the order given.
SELECT EXISTS (
    SELECT FROM ingestion_indexedpassage
    WHERE (stemmed @@ root.stemmed OR plain @@ root.plain)
        AND index_id + 0 = %(index)s
        AND tenant_id = %(tenant)s
        AND agent_id = %(agent)s
        AND enabled
)
FROM (
    SELECT nullif(stemmed, '')::tsquery AS stemmed, nullif(plain, '')::tsquery AS plain, number
    FROM unnest(%(stemmed)s::text[], %(plain)s::text[])
        WITH ORDINALITY AS given (stemmed, plain, number)
    OFFSET 0
) AS root
ORDER BY number
