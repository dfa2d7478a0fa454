from django.db import migrations

from tenants.walls import tenant_key, tenant_reference

AGENT = ["agent_id"]


class Migration(migrations.Migration):
    """The tenant in every key: no row can point at a row of another tenant or agent."""

    dependencies = [("ingestion", "0001_models"), ("tenants", "0002_walls")]
    operations = [
        tenant_key("ingestion_index", "agent_id"),
        tenant_key("ingestion_document", "agent_id"),
        tenant_key("ingestion_passage", "agent_id"),
        tenant_key("ingestion_ingestionjob"),
        *(
            tenant_reference(f"ingestion_{table}", "agent_id", "tenants_agent", name=f"{table}_agent")
            for table in ("index", "document", "ingestionjob")
        ),
        *(
            tenant_reference(
                f"ingestion_{table}",
                "document_id",
                "ingestion_document",
                also=AGENT,
                name=f"{table}_document",
            )
            for table in ("passage", "ingestionjob", "word")
        ),
        migrations.RunSQL(
            "ALTER TABLE ingestion_index ADD CONSTRAINT index_once_in_tenant UNIQUE (id, tenant_id)",
            "ALTER TABLE ingestion_index DROP CONSTRAINT index_once_in_tenant",
        ),
        tenant_reference(
            "ingestion_commonlexeme", "index_id", "ingestion_index", name="common_lexeme_index"
        ),
    ]
