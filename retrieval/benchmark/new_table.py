"""A table whose first column is a name and whose others are figures."""

from __future__ import annotations

from rich.table import Table


def new_table(title: str, first: str, *others: str) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(first)
    for name in others:
        table.add_column(name, justify="right")
    return table
