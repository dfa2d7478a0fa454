from django.db import migrations, models


class Migration(migrations.Migration):
    """Pages of one depth are fetched in the order in which they were linked."""

    dependencies = [("ingestion", "0010_pages_found")]

    operations = [
        migrations.RemoveIndex(model_name="page", name="page_frontier"),
        migrations.AddField(
            model_name="page", name="place", field=models.PositiveIntegerField(default=0)
        ),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(
                fields=["tenant", "website", "seen", "state", "depth", "place"],
                name="page_frontier",
            ),
        ),
    ]
