"""`manage.py ensure_demo_login`: a way into the demo tenant, printed once it is there."""

from __future__ import annotations

import secrets
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from retrieval import demo
from tenants.models import ApiKey


class Command(BaseCommand):
    help = (
        "Make the demo tenant, a login and an API key for it, and print them (not in production)."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("There is no demo login in production; use createsuperuser.")
        tenant, agents = demo.make_tenant()
        password = secrets.token_urlsafe(9)
        user = demo.make_login(password)
        ApiKey.objects.filter(tenant=tenant, name="demo").delete()
        _, secret = ApiKey.issue(tenant, "demo")
        self.stdout.write(f"  login     {user.email}  {password}   (admin at /admin/)")
        self.stdout.write(f"  API key   {secret}   (documentation at /api/docs/)")
        for language, agent in agents.items():
            self.stdout.write(f"  agent     {agent}  {agent.pk}   ({language})")
