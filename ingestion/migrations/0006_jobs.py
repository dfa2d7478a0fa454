import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    """Jobs that pause, wait and take turns; what embeddings cost."""

    dependencies = [("ingestion", "0005_websites"), ("tenants", "0003_quotas")]

    operations = [
        migrations.RemoveConstraint(model_name="ingestionjob", name="job_state_is_known"),
        migrations.AlterField(
            model_name="ingestionjob",
            name="state",
            field=models.CharField(
                choices=[
                    ("queued", "Queued"),
                    ("running", "Running"),
                    ("paused", "Paused"),
                    ("succeeded", "Succeeded"),
                    ("failed", "Failed"),
                    ("cancelled", "Cancelled"),
                ],
                default="queued",
                max_length=16,
            ),
        ),
        migrations.AddConstraint(
            model_name="ingestionjob",
            constraint=models.CheckConstraint(
                condition=Q(
                    state__in=["queued", "running", "paused", "succeeded", "failed", "cancelled"]
                ),
                name="job_state_is_known",
            ),
        ),
        migrations.AlterField(
            model_name="ingestionjob",
            name="file",
            field=models.CharField(blank=True, max_length=300),
        ),
        migrations.AddField(
            model_name="ingestionjob",
            name="faults",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="ingestionjob",
            name="not_before",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddIndex(
            model_name="ingestionjob",
            index=models.Index(
                condition=Q(state__in=["queued", "running"]),
                fields=["tenant", "created_at"],
                name="job_next_of_tenant",
            ),
        ),
        migrations.CreateModel(
            name="Turn",
            fields=[
                (
                    "tenant",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="tenants.tenant",
                    ),
                ),
                ("served_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="EmbeddingUse",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "tenant",
                        "space",
                        "day",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("day", models.DateField()),
                ("requests", models.PositiveIntegerField(default=0)),
                ("texts", models.PositiveBigIntegerField(default=0)),
                ("tokens", models.PositiveBigIntegerField(default=0)),
                (
                    "space",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ingestion.embeddingspace",
                    ),
                ),
                (
                    "tenant",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="tenants.tenant",
                    ),
                ),
            ],
        ),
    ]
