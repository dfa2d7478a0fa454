"""The web process: what uvicorn serves."""

import os

# Requests run in many short-lived threads here, so connections come from a pool; everything
# else (worker, commands, tests) lives in one thread a process and keeps one connection.
os.environ.setdefault("DATABASE_POOL", "1")
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dolphy.settings")

from django.conf import settings
from django.core.asgi import get_asgi_application

from dolphy.bounded import FRAMING, Bounded

application = Bounded(get_asgi_application(), settings.MAX_UPLOAD_BYTES + FRAMING)
