"""What the operator says through environment variables."""

from __future__ import annotations

import pytest
from django.core.exceptions import ImproperlyConfigured

from dolphy import environment


@pytest.mark.parametrize("value", ["", "  "])
def test_an_empty_variable_counts_as_none(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOLPHY_TESTED", value)
    assert environment.text("DOLPHY_TESTED", "laptop") == "laptop"
    assert environment.number("DOLPHY_TESTED", 7) == 7
    assert environment.fraction("DOLPHY_TESTED", 0.98) == 0.98
    assert environment.words("DOLPHY_TESTED", "a, b") == ["a", "b"]
    assert environment.flag("DOLPHY_TESTED") is False


@pytest.mark.parametrize("value", ["much", "1.5", "-0.1", "nan"])
def test_a_fraction_is_a_number_from_0_to_1(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOLPHY_TESTED", value)
    with pytest.raises(ImproperlyConfigured, match="from 0 to 1"):
        environment.fraction("DOLPHY_TESTED", 0.98)


@pytest.mark.parametrize("value", ["many", "-5", "1.5"])
def test_what_is_no_number_is_said_by_name(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOLPHY_TESTED", value)
    with pytest.raises(ImproperlyConfigured, match="DOLPHY_TESTED"):
        environment.number("DOLPHY_TESTED", 7)
