"""What every row of ingestion shares: its tenant and its agent."""

from __future__ import annotations

from django.db import models

from tenants.models import in_tenant


class TenantOwned(models.Model):
    """Belongs to one agent of one tenant; the pair is a composite foreign key in PostgreSQL."""

    tenant = in_tenant("tenants.Tenant", related_name="+")
    agent = in_tenant("tenants.Agent", related_name="+")

    class Meta:
        abstract = True
