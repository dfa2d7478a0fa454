from django.db import migrations


class Migration(migrations.Migration):
    """How the narrow table lies on disk, and its full-text indexes.

    The vector stays in the row (an exact scan reads nothing else) and the lexemes leave it (only
    the GIN indexes need them). Room is left in each page so that enabling a document touches no
    index. The HNSW graphs are made per index of an agent as it grows (`ingestion/graph.py`): one
    graph shared by all agents loses rows to the filter, see docs/decisions/0003.
    """

    dependencies = [("ingestion", "0002_walls")]
    operations = [
        migrations.RunSQL(
            """
            ALTER TABLE ingestion_indexedpassage
                ALTER COLUMN vector SET STORAGE PLAIN,
                ALTER COLUMN stemmed SET STORAGE EXTENDED,
                ALTER COLUMN plain SET STORAGE EXTENDED,
                SET (fillfactor = 90, toast_tuple_target = 1024,
                     autovacuum_vacuum_scale_factor = 0.05);
            CREATE INDEX indexed_passage_of_passage ON ingestion_indexedpassage (passage_id);
            CREATE INDEX indexed_passage_stemmed ON ingestion_indexedpassage USING gin (stemmed);
            CREATE INDEX indexed_passage_plain ON ingestion_indexedpassage USING gin (plain);
            """,
            """
            DROP INDEX indexed_passage_of_passage, indexed_passage_stemmed, indexed_passage_plain;
            """,
        )
    ]
