from django.db import migrations, models


class Migration(migrations.Migration):
    """What a tenant may keep at most."""

    dependencies = [("tenants", "0002_walls")]

    operations = [
        migrations.AddField(
            model_name="tenant",
            name=name,
            field=models.PositiveBigIntegerField(blank=True, null=True),
        )
        for name in ("max_documents", "max_bytes", "max_passages")
    ]
