from django.db import migrations

from tenants.walls import tenant_key, tenant_reference


class Migration(migrations.Migration):
    """The tenant in every key: an API key cannot name another tenant's agent."""

    dependencies = [("tenants", "0001_models")]
    operations = [
        tenant_key("tenants_agent"),
        tenant_key("tenants_apikey"),
        tenant_reference("tenants_apikey", "agent_id", "tenants_agent", name="api_key_agent"),
    ]
