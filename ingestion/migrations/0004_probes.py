import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models

from tenants.walls import tenant_key, tenant_reference


class Migration(migrations.Migration):

    dependencies = [
        ('ingestion', '0003_narrow_table'),
        ('tenants', '0002_walls'),
    ]

    operations = [
        migrations.CreateModel(
            name='IndexProbe',
            fields=[
                ('measured_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('compared', models.PositiveIntegerField(default=0)),
                ('changed', models.PositiveIntegerField(default=0)),
                ('below', models.PositiveIntegerField(default=0)),
                ('median', models.FloatField(null=True)),
                ('lowest', models.FloatField(null=True)),
                ('error_code', models.CharField(blank=True, max_length=64)),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('analysers', models.JSONField(default=dict)),
                ('agent', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='tenants.agent')),
                ('index', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='probes', to='ingestion.index')),
                ('tenant', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to='tenants.tenant')),
            ],
            options={
                'get_latest_by': 'measured_at',
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='SpaceProbe',
            fields=[
                ('measured_at', models.DateTimeField(default=django.utils.timezone.now)),
                ('compared', models.PositiveIntegerField(default=0)),
                ('changed', models.PositiveIntegerField(default=0)),
                ('below', models.PositiveIntegerField(default=0)),
                ('median', models.FloatField(null=True)),
                ('lowest', models.FloatField(null=True)),
                ('error_code', models.CharField(blank=True, max_length=64)),
                ('id', models.BigAutoField(primary_key=True, serialize=False)),
                ('space', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='probes', to='ingestion.embeddingspace')),
            ],
            options={
                'get_latest_by': 'measured_at',
                'abstract': False,
            },
        ),
        migrations.AddField(
            model_name='index',
            name='copies_vectors',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='index',
            name='probe_ignored',
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name='index',
            name='retired_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='index',
            name='trusted',
            field=models.BooleanField(default=True),
        ),
        migrations.AddConstraint(
            model_name='index',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('state', 'retired'), _negated=True), ('retired_at__isnull', False), _connector='OR'), name='index_retired_says_when'),
        ),
        migrations.AddIndex(
            model_name='indexprobe',
            index=models.Index(fields=['index', '-measured_at'], name='index_probe_newest'),
        ),
        migrations.AddIndex(
            model_name='spaceprobe',
            index=models.Index(fields=['space', '-measured_at'], name='space_probe_newest'),
        ),
        tenant_key("ingestion_indexprobe"),
        tenant_reference(
            "ingestion_indexprobe",
            "index_id",
            "ingestion_index",
            also=["agent_id"],
            name="index_probe_index",
        ),
    ]
