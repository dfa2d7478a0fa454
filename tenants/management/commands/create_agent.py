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
        parser.add_argument("--language", help="of its documents: tr (the default), en, de, …")
        parser.add_argument("--name", default="", help="what people call it")
        parser.add_argument("--key", action="store_true", help="make an API key and show it once")

    def handle(self, *args: Any, **options: Any) -> None:
        tenant_slug, _, slug = options["agent"].partition("/")
        _check_name("TENANT", tenant_slug, options["agent"])
        _check_name("AGENT", slug, options["agent"])
        try:
            with transaction.atomic():
                tenant = Tenant.objects.filter(slug=tenant_slug).first()
                tenant = tenant or _saved(Tenant(slug=tenant_slug, name=tenant_slug))
                agent = Agent.objects.filter(tenant=tenant, slug=slug).first()
                name, language = options["name"] or slug, options["language"]
                agent = agent or _saved(
                    Agent(tenant=tenant, slug=slug, name=name, language=language or "tr")
                )
                if language:
                    _check_language(agent, language)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"agent     {agent}  {agent.pk}  ({agent.language})")
        if options["key"]:
            _, secret = ApiKey.issue(tenant, f"{slug}, by command", agent=agent)
            self.stdout.write(f"API key   {secret}")


def _check_name(part: str, slug: str, whole: str) -> None:
    try:
        Agent._meta.get_field("slug").clean(slug, None)
    except ValidationError as error:
        wrong = " ".join(error.messages) if slug else "It is missing."
        raise CommandError(
            f"An agent is named TENANT/AGENT, as in acme/help; the {part} of {whole!r} is wrong: "
            f"{wrong}"
        ) from error


def _check_language(agent: Agent, language: str) -> None:
    """The language of an agent that is there stays: its passages were analysed in it."""
    Agent._meta.get_field("language").clean(language, agent)
    if agent.language != language:
        raise CommandError(
            f"{agent} is there already, in {agent.language!r}. Change its language in the admin "
            "and ingest its documents again, or make another agent."
        )


def _saved(row: Any) -> Any:
    row.full_clean()
    row.save()
    return row
