"""Which answers are worth reading, by their headers, and how long they may be."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from django.conf import settings

from ingestion.crawl.errors import NotADocument
from ingestion.crawl.models import Page
from ingestion.crawl.normalise import looks_like_sitemap
from ingestion.crawl.sitemap import MOST_BYTES as SITEMAP_BYTES

PAGE_BYTES = 10 * 1024 * 1024
_REFUSED = re.compile(
    r"(?:image|audio|video|font|model)/|text/(?:css|javascript)|application/(?:javascript|"
    r"x-javascript|wasm|x-shockwave-flash|x-msdownload|vnd\.android|java-archive|manifest\+json|"
    r"rss\+xml|atom\+xml|ld\+json)"
)
_PAGE = re.compile(r"text/|application/xhtml")


def bytes_allowed(page: Page) -> Callable[[Mapping[str, str]], int]:
    """Reads headers: the bytes that the body may have. Raises `NotADocument`."""
    is_sitemap = page.kind == Page.Kind.SITEMAP or looks_like_sitemap(page.url)

    def judge(headers: Mapping[str, str]) -> int:
        kind = headers.get("content-type", "").strip().lower()
        if is_sitemap:
            return SITEMAP_BYTES
        if _REFUSED.match(kind):
            raise NotADocument(f"It is {kind[:60]}.")
        return PAGE_BYTES if _PAGE.match(kind) or not kind else int(settings.MAX_UPLOAD_BYTES)

    return judge
