from django.db import migrations

from tenants.walls import tenant_key, tenant_reference


class Migration(migrations.Migration):
    dependencies = [("retrieval", "0001_models"), ("tenants", "0002_walls")]
    operations = [
        tenant_key("retrieval_trace"),
        tenant_reference("retrieval_trace", "agent_id", "tenants_agent", name="trace_agent"),
    ]
