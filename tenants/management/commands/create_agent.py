"""`manage.py create_agent TENANT/AGENT`: a tenant and an agent of it, with a key if wanted."""

from __future__ import annotations

from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, CommandError
from django.db import transaction

from tenants.models import Agent, ApiKey, Tenant


class Command(BaseCommand):
    help = "Make a tenant and an agent of it; what is there already stays as it is."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("agent", metavar="TENANT/AGENT", help="short names, as in acme/help")
        parser.add_argument("--language", default="tr", help="of its documents: tr, en, de, …")
        parser.add_argument("--name", default="", help="what people call it")
        parser.add_argument("--key", action="store_true", help="make an API key and show it once")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant_slug, _, slug = options["agent"].partition("/")
        try:
            with transaction.atomic():
                tenant = Tenant.objects.filter(slug=tenant_slug).first()
                tenant = tenant or _saved(Tenant(slug=tenant_slug, name=tenant_slug))
                agent = Agent.objects.filter(tenant=tenant, slug=slug).first()
                name, language = options["name"] or slug, options["language"]
                agent = agent or _saved(
                    Agent(tenant=tenant, slug=slug, name=name, language=language)
                )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"agent     {agent}  {agent.pk}  ({agent.language})")
        if options["key"]:
            _, secret = ApiKey.issue(tenant, f"{slug}, by command", agent=agent)
            self.stdout.write(f"API key   {secret}")


def _saved(row: Any) -> Any:
    row.full_clean()
    row.save()
    return row
