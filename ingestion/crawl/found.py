"""What a crawl found on a page, for the report of its document.

A page reaches ingestion as plain HTML of its content alone (decision 6), so the file says nothing
any more of the charset it was written in, nor of what was left out of it. The page's row does.
"""

from __future__ import annotations

from typing import Any

from ingestion.crawl.models import Page
from ingestion.models import Document


def found_on_page(document: Document) -> dict[str, object]:
    """The entries of a report that the crawl knows better; empty for what is no page of a website.

    `boilerplate_removed` counts blocks: the page's own navigation, banners and the like, and those
    that repeat across the website, of which `repeated_blocks` and `repeated_characters` tell.
    """
    if document.media_type != "text/html":
        return {}
    pages = Page.objects.filter(
        tenant=document.tenant_id, document=document.pk, kind=Page.Kind.PAGE, code=""
    )
    columns = ("charset", "boilerplate_removed", "repeated_blocks", "repeated_characters")
    found: dict[str, Any] | None = pages.order_by("-fetched_at").values(*columns).first()
    if found is None:
        return {}
    found["boilerplate_removed"] += found["repeated_blocks"]
    if not found["charset"]:
        del found["charset"]
    return found
