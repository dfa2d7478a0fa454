from django.db import migrations, models


class Migration(migrations.Migration):
    """What a crawl found in a page and left out of its document, for the document's report."""

    dependencies = [("ingestion", "0009_removals")]

    operations = [
        migrations.AddField(
            model_name="page",
            name="charset",
            field=models.CharField(blank=True, max_length=40),
        ),
        migrations.AddField(
            model_name="page",
            name="repeated_blocks",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="page",
            name="repeated_characters",
            field=models.PositiveIntegerField(default=0),
        ),
    ]
