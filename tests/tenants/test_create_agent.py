"""Making tenants and agents by command."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command

from tenants.authentication import live_key
from tenants.models import Agent, Tenant


def test_a_tenant_and_an_agent_are_made_once(db: None) -> None:
    for _ in range(2):
        call_command("create_agent", "acme/help", "--language", "en")
    agent = Agent.objects.get()
    assert (str(agent), agent.language) == ("acme/help", "en")


def test_a_key_is_shown_that_opens_this_agent_alone(db: None, capsys: Any) -> None:
    call_command("create_agent", "acme/help", "--key")
    key = live_key(capsys.readouterr().out.split()[-1])
    assert key.agent == Agent.objects.get()


def test_a_language_without_an_analyser_makes_nothing_and_the_known_ones_are_said(db: None) -> None:
    with pytest.raises(
        CommandError, match=r"no analyser for 'xx'; the languages are tr, ar, .* yi"
    ):
        call_command("create_agent", "acme/help", "--language", "xx")
    assert not Tenant.objects.exists()


@pytest.mark.parametrize("name", ["acme", "acme/", "/help", "ac me/help", "acme/he/lp", "a" * 99])
def test_a_bad_name_makes_nothing(db: None, name: str) -> None:
    with pytest.raises(CommandError):
        call_command("create_agent", name)
    assert not Tenant.objects.exists()


@pytest.mark.parametrize(
    ("name", "part"),
    [
        *(("acme", "AGENT of 'acme' is wrong: It is missing"), ("/help", "TENANT of '/help'")),
        *(("ACME help/x", "TENANT of 'ACME help/x'"), ("acme/my help", "AGENT of 'acme/my help'")),
    ],
)
def test_a_bad_name_says_which_part_is_wrong(db: None, name: str, part: str) -> None:
    with pytest.raises(CommandError, match="TENANT/AGENT") as refused:
        call_command("create_agent", name)
    assert part in str(refused.value)


def test_another_language_for_an_agent_that_is_there_is_refused_and_its_own_is_said(
    db: None,
) -> None:
    call_command("create_agent", "acme/help")
    with pytest.raises(CommandError, match="no analyser for 'xx'"):
        call_command("create_agent", "acme/help", "--language", "xx")
    with pytest.raises(CommandError, match="acme/help is there already, in 'tr'"):
        call_command("create_agent", "acme/help", "--language", "en")
    call_command("create_agent", "acme/help", "--language", "tr")
    assert Agent.objects.get().language == "tr"
