"""The tenant boundary as PostgreSQL keeps it: migration operations that Django has no words for.

`tenant_key` puts the tenant into a table's primary key; `tenant_reference` adds a composite foreign
key that carries it. Both run after the table is made and know nothing of the models.
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db.migrations.operations import RunSQL


def tenant_key(table: str, *columns: str) -> RunSQL:
    """Make `(id, tenant_id, …)` the primary key of a table whose key was `id` alone."""
    key = ", ".join(("id", "tenant_id", *columns))
    return RunSQL(
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, "
        f"ADD CONSTRAINT {table}_pkey PRIMARY KEY ({key})",
        f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey, "
        f"ADD CONSTRAINT {table}_pkey PRIMARY KEY (id)",
    )


def tenant_reference(
    table: str, column: str, target: str, *, also: Sequence[str] = (), name: str
) -> RunSQL:
    """A foreign key `(column, tenant_id, …) → target (id, tenant_id, …)`, cascading."""
    shared = ", ".join(("tenant_id", *also))
    return RunSQL(
        f"ALTER TABLE {table} ADD CONSTRAINT {name} FOREIGN KEY ({column}, {shared}) "
        f"REFERENCES {target} (id, {shared}) ON DELETE CASCADE",
        f"ALTER TABLE {table} DROP CONSTRAINT {name}",
    )
