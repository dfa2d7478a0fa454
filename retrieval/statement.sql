-- One question, one round trip: both branches inside the boundary, the true cosine of every
-- candidate, fusion, duplicates, caps and what fills the rest.
-- {width} is the width of the embedding space, {index} the agent's index, {way_in} the condition
-- that leads the nearest-neighbour scan: through the index's key, or its graph. A root is a bit: a
-- passage's `roots` is the set of those it holds. A weight, idf times the root's own, is a whole
-- number of billionths, so its sum is the same in any order.
WITH
-- The rarest roots are looked up, as long as their passages together stay within the bound; the
-- first of them in any case, up to a bound of its own.
root AS MATERIALIZED (
    SELECT bit, stemmed, plain, worth,
        %(lexical_depth)s > 0 AND (
            so_far <= %(lexical_bound)s
            OR so_far = passages AND so_far <= 4 * %(lexical_bound)s
        ) AS is_looked_up
    FROM (
        SELECT given.*, sum(passages) OVER (ORDER BY passages, bit) AS so_far
        FROM (
            SELECT 1::bigint << (number - 1)::int AS bit, 1e9::float8 * weight AS worth,
                nullif(stemmed, '')::tsquery AS stemmed, nullif(plain, '')::tsquery AS plain,
                coalesce((
                    SELECT sum((
                        SELECT passages FROM ingestion_commonlexeme
                        WHERE index_id = {index} AND lexeme = form.lexeme AND tenant_id = %(tenant)s
                    ))
                    FROM unnest(%(form_numbers)s::int[], %(forms)s::text[]) AS form (number, lexeme)
                    WHERE form.number = given.number
                ), 0)::float8 AS passages
            FROM unnest(%(stemmed)s::text[], %(plain)s::text[], %(weights)s::float8[])
                WITH ORDINALITY AS given (stemmed, plain, weight, number)
            OFFSET 0
        ) AS given
    ) AS by_rarity
),
branches AS (
    -- Lexical: which passages hold which root, read from posting lists whose lexemes never leave the
    -- index. The boundary stands here too; its `+ 0` keeps an index on it from being read for nothing.
    SELECT passage_id, uri, position, bit AS roots, NULL::bigint AS semantic_rank,
        round(worth * ln((greatest(%(passages)s, df) + 1) / (df + 0.5::float8))) AS weight
    FROM root
    CROSS JOIN LATERAL (
        SELECT passage_id, uri, position, count(*) OVER () AS df
        FROM ingestion_indexedpassage
        WHERE (stemmed @@ root.stemmed OR plain @@ root.plain)
            AND index_id + 0 = {index}
            AND tenant_id = %(tenant)s
            AND agent_id = %(agent)s
            AND enabled
    ) AS posting
    WHERE is_looked_up
    UNION ALL
    -- Semantic: a graph scan may come back slightly out of order, so it is sorted again.
    SELECT passage_id, uri, position, 0, row_number() OVER (ORDER BY distance, uri, position), 0
    FROM (
        SELECT passage_id, uri, position, vector::halfvec({width}) <=> %(question)s::halfvec AS distance
        FROM ingestion_indexedpassage
        WHERE {way_in}
            AND tenant_id = %(tenant)s
            AND agent_id = %(agent)s
            AND enabled
        ORDER BY distance, uri, position
        LIMIT {semantic_depth}
    ) AS nearest
),
reached AS (
    SELECT passage_id, roots, semantic_rank,
        CASE WHEN roots <> 0 THEN row_number() OVER (ORDER BY weight DESC, uri, position) END AS lexical_rank
    FROM (
        SELECT passage_id, any_value(uri) AS uri, any_value(position) AS position,
            bit_or(roots) AS roots, min(semantic_rank) AS semantic_rank, sum(weight) AS weight
        FROM branches
        GROUP BY passage_id
    ) AS passage
),
-- The pool: whatever is deep enough in a branch, with its true cosine. Roots that were too common to
-- look up are tested here, on the candidates alone.
pool AS MATERIALIZED (
    SELECT passage_id, semantic_rank, indexed.document_id, indexed.uri, indexed.position,
        indexed.same_text, indexed.similarity, reached.roots | indexed.roots AS roots,
        CASE WHEN lexical_rank <= %(lexical_depth)s THEN lexical_rank END AS lexical_rank
    FROM reached
    CROSS JOIN LATERAL (
        SELECT document_id, uri, position, same_text,
            1 - (vector::halfvec({width}) <=> %(question)s::halfvec) AS similarity,
            CASE WHEN (SELECT bool_and(is_looked_up) FROM root) THEN 0
                ELSE (
                    SELECT coalesce(bit_or(bit), 0) FROM root
                    WHERE NOT is_looked_up
                        AND (candidate.stemmed @@ root.stemmed OR candidate.plain @@ root.plain)
                )
            END AS roots
        FROM ingestion_indexedpassage AS candidate
        WHERE candidate.passage_id = reached.passage_id
            AND index_id = {index}
            AND tenant_id = %(tenant)s
            AND agent_id = %(agent)s
        OFFSET 0
    ) AS indexed
    WHERE semantic_rank IS NOT NULL OR lexical_rank <= %(lexical_depth)s
),
-- Candidates that hold the same roots count as one until their scores are made.
held AS MATERIALIZED (
    SELECT roots, count(*)::int AS candidates FROM pool GROUP BY roots
),
-- Roots present anywhere in the pool, with their idf in it.
weight AS MATERIALIZED (
    SELECT bit, round(worth * ln((total + 1) / (df + 0.5::float8))) AS weight
    FROM (
        SELECT bit, worth, sum(candidates) AS total, sum(candidates) FILTER (WHERE roots & bit <> 0) AS df
        FROM root CROSS JOIN held
        GROUP BY bit, worth
    ) AS counted
    WHERE df > 0
),
scale AS MATERIALIZED (
    SELECT min(similarity) AS lowest, nullif(1 - min(similarity), 0) AS range,
        (SELECT sum(weight) FROM weight) AS whole
    FROM pool
),
coverage AS MATERIALIZED (
    SELECT roots, coalesce(sum(weight) / (SELECT whole FROM scale), 0) AS lexical
    FROM held LEFT JOIN weight ON bit & roots <> 0
    GROUP BY roots
),
ordered AS MATERIALIZED (
    SELECT scored.*,
        row_number() OVER by_score AS place,
        first_value(document_id) OVER by_score AS strongest_document
    FROM (
        SELECT relative.*,
            CASE %(fusion)s
                WHEN 'calibrated' THEN %(semantic_weight)s * semantic + %(lexical_weight)s * lexical
                WHEN 'rrf' THEN
                    coalesce(1::float8 / (%(rrf_k)s + semantic_rank), 0)
                    + coalesce(1::float8 / (%(rrf_k)s + lexical_rank), 0)
                WHEN 'semantic' THEN semantic
                WHEN 'lexical' THEN 1::float8 / lexical_rank
            END AS score
        FROM (
            SELECT pool.*, lexical, coalesce((similarity - lowest) / range, 0) AS semantic
            FROM scale CROSS JOIN pool JOIN coverage USING (roots)
            OFFSET 0
        ) AS relative
        OFFSET 0
    ) AS scored
    WINDOW by_score AS (ORDER BY score DESC, uri, position)
),
-- Of equal texts the best one stays. The strongest document is that of the best passage. What the
-- caps leave open is filled by later candidates, in order, never by duplicates.
judged AS (
    SELECT place, turn,
        CASE
            WHEN is_duplicate THEN 'duplicate'
            WHEN turn > %(limit)s THEN CASE WHEN is_over_cap THEN 'over_cap' ELSE 'beyond_limit' END
            WHEN is_over_cap THEN 'filled'
            ELSE 'kept'
        END AS verdict
    FROM (
        SELECT *, row_number() OVER (ORDER BY is_duplicate, is_over_cap, place) AS turn
        FROM (
            SELECT place, is_duplicate,
                row_number() OVER (PARTITION BY document_id, is_duplicate ORDER BY place)
                    > CASE WHEN document_id = strongest_document
                        THEN %(strongest_document_cap)s ELSE %(document_cap)s END AS is_over_cap
            FROM (
                SELECT place, document_id, strongest_document,
                    row_number() OVER (PARTITION BY same_text ORDER BY place) > 1 AS is_duplicate
                FROM ordered
            ) AS told_apart
        ) AS capped
    ) AS counted
)
SELECT ordered.passage_id, ordered.document_id, uri, ordered.position, semantic_rank, lexical_rank,
    similarity, semantic, lexical, roots, score, place, verdict,
    CASE WHEN verdict IN ('kept', 'filled') THEN turn END AS rank,
    evidence.title, evidence.heading, evidence.page, evidence.text,
    (SELECT bit_or(bit) FROM root WHERE is_looked_up) AS looked_up
FROM ordered
JOIN judged USING (place)
LEFT JOIN LATERAL (
    SELECT passage.heading, passage.page, passage.text, (
        SELECT title FROM ingestion_document AS document
        WHERE document.id = passage.document_id AND document.tenant_id = %(tenant)s
    )
    FROM ingestion_passage AS passage
    WHERE verdict IN ('kept', 'filled')
        AND passage.id = ordered.passage_id
        AND passage.tenant_id = %(tenant)s
    OFFSET 0
) AS evidence ON true
ORDER BY place
