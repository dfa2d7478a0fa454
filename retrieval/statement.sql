-- One question, one round trip: both branches inside the boundary, the true cosine of every
-- candidate, fusion, duplicates, caps and what fills the rest.
-- {width} is the width of the embedding space and {index} the agent's index. A root is a bit: a
-- passage's `roots` is the set of those it holds. An idf is a whole number of billionths, so its sum
-- is the same in any order.
WITH
root AS MATERIALIZED (
    SELECT 1::bigint << (number - 1)::int AS bit, stemmed::tsquery AS stemmed, plain::tsquery AS plain,
        (
            SELECT coalesce(sum(common.passages), 0)::float8
            FROM unnest(%(form_numbers)s::int[], %(forms)s::text[]) AS form (number, lexeme)
            JOIN ingestion_commonlexeme AS common
                ON common.index_id = {index} AND common.lexeme = form.lexeme AND common.tenant_id = %(tenant)s
            WHERE form.number = given.number
        ) AS passages
    FROM unnest(%(stemmed)s::text[], %(plain)s::text[]) WITH ORDINALITY AS given (stemmed, plain, number)
),
-- The rarest roots first, as long as their passages together stay within the bound; the first of
-- them in any case, up to a bound of its own.
looked_up AS MATERIALIZED (
    SELECT bit, stemmed, plain
    FROM (SELECT root.*, sum(passages) OVER (ORDER BY passages, bit) AS so_far FROM root) AS by_rarity
    WHERE %(lexical_depth)s > 0
        AND (so_far <= %(lexical_bound)s OR so_far = passages AND so_far <= 4 * %(lexical_bound)s)
),
branches AS (
    -- Lexical: which passages hold which root, read from posting lists whose lexemes never leave the
    -- index. The boundary stands here too, as a filter (+ 0: an index on it would be read for nothing).
    SELECT passage_id, uri, position, bit AS roots, NULL::bigint AS semantic_rank,
        round(1e9 * ln((greatest(%(passages)s, df) + 1) / (df + 0.5::float8))) AS weight
    FROM looked_up
    CROSS JOIN LATERAL (
        SELECT passage_id, uri, position, count(*) OVER () AS df
        FROM ingestion_indexedpassage
        WHERE (stemmed @@ looked_up.stemmed OR plain @@ looked_up.plain)
            AND index_id + 0 = {index}
            AND tenant_id = %(tenant)s
            AND agent_id = %(agent)s
            AND enabled
    ) AS posting
    UNION ALL
    -- Semantic: a graph scan may come back slightly out of order, so it is sorted again.
    SELECT passage_id, uri, position, 0, row_number() OVER (ORDER BY distance, uri, position), 0
    FROM (
        SELECT passage_id, uri, position,
            vector::halfvec({width}) <=> %(question)s::halfvec AS distance
        FROM ingestion_indexedpassage
        WHERE index_id = {index}
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
        SELECT passage_id, any_value(uri) AS uri, any_value(position) AS position, bit_or(roots) AS roots,
            min(semantic_rank) AS semantic_rank, sum(weight) AS weight
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
            coalesce((
                SELECT bit_or(bit) FROM root
                WHERE bit NOT IN (SELECT bit FROM looked_up)
                    AND (candidate.stemmed @@ root.stemmed OR candidate.plain @@ root.plain)
            ), 0) AS roots
        FROM ingestion_indexedpassage AS candidate
        WHERE candidate.passage_id = reached.passage_id
            AND index_id = {index}
            AND tenant_id = %(tenant)s
            AND agent_id = %(agent)s
        OFFSET 0
    ) AS indexed
    WHERE semantic_rank IS NOT NULL OR lexical_rank <= %(lexical_depth)s
),
-- Roots present anywhere in the pool, with their idf in it.
weight AS MATERIALIZED (
    SELECT bit, round(1e9 * ln((total + 1) / (df + 0.5::float8))) AS weight
    FROM (
        SELECT bit, count(*) AS total, count(*) FILTER (WHERE pool.roots & bit <> 0) AS df
        FROM root CROSS JOIN pool
        GROUP BY bit
    ) AS counted
    WHERE df > 0
),
scored AS (
    SELECT pool.*, scale.*,
        CASE %(fusion)s
            WHEN 'calibrated' THEN %(semantic_weight)s * semantic + %(lexical_weight)s * lexical
            WHEN 'rrf' THEN
                coalesce(1::float8 / (%(rrf_k)s + semantic_rank), 0)
                + coalesce(1::float8 / (%(rrf_k)s + lexical_rank), 0)
            WHEN 'semantic' THEN semantic
            WHEN 'lexical' THEN 1::float8 / lexical_rank
        END AS score
    FROM pool
    CROSS JOIN (
        SELECT min(similarity) AS lowest, nullif(1 - min(similarity), 0) AS range,
            (SELECT nullif(sum(weight), 0) FROM weight) AS whole
        FROM pool
    ) AS bounds
    CROSS JOIN LATERAL (
        SELECT coalesce((similarity - lowest) / range, 0) AS semantic,
            coalesce((SELECT sum(weight) FROM weight WHERE bit & pool.roots <> 0) / whole, 0) AS lexical
        OFFSET 0
    ) AS scale
),
-- Of equal texts the best one stays. The strongest document is that of the best passage.
ordered AS (
    SELECT scored.*,
        row_number() OVER (PARTITION BY same_text ORDER BY score DESC, uri, position) > 1 AS is_duplicate,
        row_number() OVER by_score AS place,
        first_value(document_id) OVER by_score AS strongest_document
    FROM scored
    WINDOW by_score AS (ORDER BY score DESC, uri, position)
),
capped AS (
    SELECT ordered.*,
        row_number() OVER (PARTITION BY document_id, is_duplicate ORDER BY place)
            > CASE WHEN document_id = strongest_document
                THEN %(strongest_document_cap)s ELSE %(document_cap)s END AS is_over_cap
    FROM ordered
),
-- What the caps leave open is filled by later candidates, in order, never by duplicates.
judged AS (
    SELECT capped.*,
        CASE
            WHEN is_duplicate THEN 'duplicate'
            WHEN turn > %(limit)s THEN CASE WHEN is_over_cap THEN 'over_cap' ELSE 'beyond_limit' END
            WHEN is_over_cap THEN 'filled'
            ELSE 'kept'
        END AS verdict
    FROM (
        SELECT capped.*, row_number() OVER (ORDER BY is_duplicate, is_over_cap, place) AS turn FROM capped
    ) AS capped
)
SELECT judged.passage_id, judged.document_id, uri, judged.position, semantic_rank, lexical_rank,
    similarity, semantic, lexical, roots, score, place, verdict,
    CASE WHEN verdict IN ('kept', 'filled') THEN turn END AS rank,
    evidence.title, evidence.heading, evidence.page, evidence.text,
    (SELECT bit_or(bit) FROM looked_up) AS looked_up
FROM judged
LEFT JOIN LATERAL (
    SELECT document.title, passage.heading, passage.page, passage.text
    FROM ingestion_passage AS passage
    JOIN ingestion_document AS document
        ON document.id = passage.document_id AND document.tenant_id = passage.tenant_id
    WHERE verdict IN ('kept', 'filled')
        AND passage.id = judged.passage_id
        AND passage.tenant_id = %(tenant)s
    OFFSET 0
) AS evidence ON true
ORDER BY place
