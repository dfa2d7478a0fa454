from django.db import migrations


class Migration(migrations.Migration):
    """The narrow table as it lies on disk, with its full-text indexes.

    Columns of fixed width come first: every scan filters on them. The vector stays in the row, for
    every distance reads it, and so do the lexemes, uncompressed: a candidate is tested for the
    roots that are too common to look up, and fetching them from TOAST cost more than all else (what
    does not fit into a page still moves out, the vector last). The price is paid where a document
    is enabled or disabled: a row of more than half a page moves, and every index with it. The
    full-text indexes keep no pending list, which every search would have to read through. The HNSW
    graphs are made per index of an agent as it grows (`ingestion/graph.py`): one graph shared by
    all agents loses rows to the filter, see docs/decisions/0003.
    """

    dependencies = [("ingestion", "0002_walls")]
    operations = [
        migrations.RunSQL(
            """
            DROP TABLE ingestion_indexedpassage;
            CREATE TABLE ingestion_indexedpassage (
                index_id integer NOT NULL,
                analyser smallint NOT NULL,
                enabled boolean NOT NULL,
                passage_id bigint NOT NULL,
                position integer NOT NULL,
                tenant_id uuid NOT NULL,
                agent_id uuid NOT NULL,
                document_id uuid NOT NULL,
                same_text uuid NOT NULL,
                text_key uuid NOT NULL,
                uri varchar(1000) COLLATE "C" NOT NULL,
                vector halfvec STORAGE MAIN NOT NULL,
                stemmed tsvector NOT NULL,
                plain tsvector NOT NULL,
                PRIMARY KEY (index_id, passage_id, tenant_id),
                CONSTRAINT indexed_passage_index FOREIGN KEY (index_id, tenant_id, agent_id)
                    REFERENCES ingestion_index (id, tenant_id, agent_id) ON DELETE CASCADE,
                CONSTRAINT indexed_passage_passage FOREIGN KEY (passage_id, tenant_id, agent_id)
                    REFERENCES ingestion_passage (id, tenant_id, agent_id) ON DELETE CASCADE
            ) WITH (
                fillfactor = 90, toast_tuple_target = 8160, autovacuum_vacuum_scale_factor = 0.05
            );
            CREATE INDEX indexed_passage_text ON ingestion_indexedpassage (index_id, text_key);
            CREATE INDEX indexed_passage_of_passage ON ingestion_indexedpassage (passage_id);
            CREATE INDEX indexed_passage_stemmed ON ingestion_indexedpassage
                USING gin (stemmed) WITH (fastupdate = off);
            CREATE INDEX indexed_passage_plain ON ingestion_indexedpassage
                USING gin (plain) WITH (fastupdate = off);
            """,
            migrations.RunSQL.noop,
        )
    ]
