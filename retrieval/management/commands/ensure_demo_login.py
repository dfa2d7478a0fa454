"""`manage.py ensure_demo_login`: a way into the demo tenant, the same at every start."""

from __future__ import annotations

import json
import os
import secrets
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError

from retrieval import demo
from tenants.models import ApiKey, Tenant


class Command(BaseCommand):
    help = (
        "Make the demo tenant, a login and an API key for it, and print them (not in production)."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("There is no demo login in production; use createsuperuser.")
        tenant, agents = demo.make_tenant()
        access = _kept(tenant) or _made(tenant)
        self.stdout.write(f"  login     {demo.EMAIL}  {access['password']}   (admin at /admin/)")
        self.stdout.write(f"  API key   {access['key']}   (documentation at /api/docs/)")
        for language, agent in agents.items():
            self.stdout.write(f"  agent     {agent}  {agent.pk}   ({language})")


def _file() -> Path:
    """A laptop's demo access lies beside its data, readable by its owner only."""
    return Path(settings.HOME) / "demo-login.json"


def _kept(tenant: Tenant) -> dict[str, str] | None:
    """What was printed before, if it still opens the door."""
    try:
        access: dict[str, str] = json.loads(_file().read_text())
        digest = ApiKey.digest(access["key"])
        user = demo.login()
    except (OSError, ValueError, KeyError):
        return None
    key = ApiKey.objects.filter(tenant=tenant, hash=digest).first()
    opens = user is not None and user.check_password(access["password"])
    return access if opens and key is not None and key.is_live() else None


def _made(tenant: Tenant) -> dict[str, str]:
    password = secrets.token_urlsafe(9)
    demo.make_login(password)
    _, key = ApiKey.issue(tenant, "demo")
    access = {"password": password, "key": key}
    _file().unlink(missing_ok=True)
    with os.fdopen(os.open(_file(), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(access, file)
    return access
