"""The demo tenant: an invented web shop with a Turkish and an English agent, and its questions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from tenants.models import Agent, Membership, Tenant, User

FOLDER = Path(__file__).resolve().parent.parent.parent / "demo"
TENANT, NAME = "turnagol", "Turnagöl"
AGENTS = {"tr": "Turnagöl Destek", "en": "Turnagöl Support"}
EMAIL = "demo@turnagol.example"


@dataclass(frozen=True)
class DemoQuestion:
    """A question, the document that answers it, and words that the answering passage holds."""

    agent: str
    question: str
    document: str
    answer: str


def questions() -> list[DemoQuestion]:
    return [DemoQuestion(**row) for row in json.loads((FOLDER / "questions.json").read_text())]


def make_tenant() -> tuple[Tenant, dict[str, Agent]]:
    """The tenant and its agents by language; made on the first call, found afterwards."""
    tenant, _ = Tenant.objects.get_or_create(slug=TENANT, defaults={"name": NAME})
    agents = {
        language: Agent.objects.get_or_create(
            tenant=tenant, slug=language, defaults={"name": name, "language": language}
        )[0]
        for language, name in AGENTS.items()
    }
    return tenant, agents


def make_login(password: str) -> User:
    """A platform admin who is a member of the demo tenant, with this password."""
    tenant, _ = make_tenant()
    user = login()
    if user is None:
        user = User.objects.create_superuser(EMAIL, password)
    else:
        user.set_password(password)
        user.save(update_fields=["password"])
    Membership.objects.get_or_create(tenant=tenant, user=user)
    return user


def login() -> User | None:
    return User.objects.filter(email=EMAIL).first()


def documents(language: str) -> list[Path]:
    return sorted(path for path in (FOLDER / "documents" / language).iterdir() if path.is_file())
