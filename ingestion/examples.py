"""What the documentation's forms send when nobody changes them: bodies that would be wanted so.

Without an example the forms invent text, and an upload or a website of that name is really made.
"""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import OpenApiExample, extend_schema_serializer
from rest_framework.serializers import Serializer

from ingestion.crawl.serializers import NewWebsite, WebsiteChange
from ingestion.serializers import DocumentChange

EXAMPLES: dict[type[Serializer[Any]], dict[str, Any]] = {
    DocumentChange: {"title": "İade koşulları"},
    NewWebsite: {"url": "https://www.example.com/yardim/", "include": ["/yardim/*"]},
    WebsiteChange: {"include": ["/yardim/*"], "every_hours": 24},
}


def give() -> None:
    """Give each body its example; to be called once, before the schema is made."""
    for body, value in EXAMPLES.items():
        example = OpenApiExample(body.__name__, value=value, request_only=True)
        extend_schema_serializer(examples=[example])(body)
