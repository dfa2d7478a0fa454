"""What a table's cells are taken for."""

from __future__ import annotations

import pytest

from ingestion.parsing.tables import is_figure


@pytest.mark.parametrize("cell", ["12", "1.250,00 TL", "% 18", "01.02.2026", "(3)", "+90 212"])
def test_a_number_an_amount_and_a_date_are_figures(cell: str) -> None:
    assert is_figure(cell)


@pytest.mark.parametrize("cell", ["", "İade", "2 gün", "TR-12", "1" + "." * 1_000_000 + "x"])
def test_a_text_is_no_figure(cell: str) -> None:
    assert not is_figure(cell)
