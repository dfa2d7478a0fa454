from django.db import migrations, models


class Migration(migrations.Migration):
    """Passages by their text, so that a document is asked where else it stands."""

    dependencies = [("ingestion", "0007_names")]

    operations = [
        migrations.AddIndex(
            model_name="indexedpassage",
            index=models.Index(
                fields=["index", "same_text", "document"], name="indexed_passage_same_text"
            ),
        ),
    ]
