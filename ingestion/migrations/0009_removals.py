from django.db import migrations, models

ONCE = {"fields": ("tenant", "agent", "uri"), "name": "document_uri_once"}


class Migration(migrations.Migration):
    """Documents that were removed keep their row until they are purged, but not their address."""

    dependencies = [("ingestion", "0008_duplicates")]

    operations = [
        migrations.AddField(
            model_name="document",
            name="removed_at",
            field=models.DateTimeField(editable=False, null=True),
        ),
        migrations.RemoveConstraint(model_name="document", name=ONCE["name"]),
        migrations.AddConstraint(
            model_name="document",
            constraint=models.UniqueConstraint(**ONCE, condition=models.Q(removed_at=None)),
        ),
        migrations.AddIndex(
            model_name="document",
            index=models.Index(
                fields=["removed_at"],
                condition=models.Q(removed_at__isnull=False),
                name="document_removed",
            ),
        ),
    ]
