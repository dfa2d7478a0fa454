"""The test session: which services it runs on.

Django's settings join the embedded services of flavour "test" (a database and a broker of this
session's own, whatever else runs in the checkout) unless DATABASE_URL and REDIS_URL name others;
pytest-django makes the database `test_…` in it and drops it at the end.
"""

from __future__ import annotations

import pytest
from django.conf import settings


def pytest_report_header(config: pytest.Config) -> str:
    database = settings.DATABASES["default"]
    return f"services: PostgreSQL at {database['HOST'] or 'localhost'}, {settings.REDIS_URL}"
