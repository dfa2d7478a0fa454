"""Languages of agents: those of the analyser, in the model and in the database."""

from __future__ import annotations

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError

from ingestion.analysis.languages import LANGUAGES
from tenants.languages import Language
from tenants.models import Agent
from tests.factories import World, make_agent


def test_an_agent_may_have_exactly_the_languages_that_the_analyser_knows() -> None:
    assert tuple(Language.values) == LANGUAGES


def test_an_unknown_language_is_refused_with_the_known_ones(acme: World) -> None:
    agent = Agent(tenant=acme.tenant, slug="new", name="New", language="xx")
    with pytest.raises(ValidationError) as refused:
        agent.full_clean()
    (said,) = refused.value.message_dict["language"]
    assert "'xx'" in said
    assert said.endswith(f"the languages are {', '.join(LANGUAGES)}.")


def test_postgresql_refuses_an_unknown_language(acme: World) -> None:
    with pytest.raises(IntegrityError, match="agent_language_is_known"):
        make_agent(acme.tenant, "new", language="xx")
