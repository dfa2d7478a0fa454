"""One spelling for every address, and which belong to a website."""

from __future__ import annotations

import pytest

from ingestion.crawl.errors import BadPattern
from ingestion.crawl.normalise import Extent, check_patterns, is_trap, matches, normalised


@pytest.mark.parametrize(
    "written, kept",
    [
        ("http://A.example", "http://a.example/"),
        ("http://a.example:80/x", "http://a.example/x"),
        ("https://a.example:443/x", "https://a.example/x"),
        ("http://a.example:8080/x", "http://a.example:8080/x"),
        ("http://a.example/x#y", "http://a.example/x"),
        ("http://a.example/?b=2&a=1", "http://a.example/?a=1&b=2"),
        ("http://a.example/?a=", "http://a.example/?a="),
        ("http://a.example/İade?q=ş", "http://a.example/%C4%B0ade?q=%C5%9F"),
        ("http://a.example/%7eb", "http://a.example/~b"),
        ("http://örnek.example/", "http://xn--rnek-4qa.example/"),
        ("  http://a.example/x \n", "http://a.example/x"),
        ("http://a.example/?utm_source=1&fbclid=2", "http://a.example/"),
        ("http://a.example/?PHPSESSID=1&sayfa=2", "http://a.example/?sayfa=2"),
        ("http://a.example/x;jsessionid=1?a=1", "http://a.example/x?a=1"),
        ("http://a.example./x", "http://a.example/x"),
    ],
)
def test_addresses_of_one_page_are_spelled_alike(written: str, kept: str) -> None:
    assert normalised(written) == kept
    assert normalised(kept) == kept


@pytest.mark.parametrize(
    "href",
    ["mailto:a@b.c", "javascript:void(0)", "tel:123", "data:text/html,x", "ftp://a.example/",
     "http://u:p@a.example/", "http://[::1", "http://a.example/" + "x" * 1000],
)  # fmt: skip
def test_what_is_no_page_has_no_address(href: str) -> None:
    assert normalised(href, "http://a.example/") is None


@pytest.mark.parametrize(
    "href, found",
    [
        ("b", "http://a.example/x/b"),
        ("/b", "http://a.example/b"),
        ("../b", "http://a.example/b"),
        ("//c.example/b", "http://c.example/b"),
        ("?p=2", "http://a.example/x/y?p=2"),
        ("", "http://a.example/x/y"),
        ("#top", "http://a.example/x/y"),
    ],
)
def test_links_are_relative_to_their_page(href: str, found: str) -> None:
    assert normalised(href, "http://a.example/x/y") == found


@pytest.mark.parametrize(
    "pattern, url, does",
    [
        ("/help/*", "http://a.example/help/x/y", True),
        ("/help/*", "http://a.example/help", False),
        ("/help", "http://a.example/help?p=1", True),
        ("/help?p=*", "http://a.example/help?p=1", True),
        ("*.pdf", "http://a.example/x/y.pdf", True),
        ("*/eski/*", "http://a.example/x/eski/y", True),
        ("http://a.example/h*", "http://a.example/help", True),
        ("http://b.example/*", "http://a.example/help", False),
        ("/a.c", "http://a.example/abc", False),
        ("/İade*", "http://a.example/%C4%B0ade/1", True),
        ("*a*a*a*a*a*a*a*a*a*a*a*a*b", "http://a.example/" + "a" * 900, False),
    ],
)
def test_patterns(pattern: str, url: str, does: bool) -> None:
    assert matches(pattern, url) is does


@pytest.mark.parametrize("pattern", ["", "help", "/a b", "/" + "x" * 500, "ftp://a/*"])
def test_what_is_no_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(BadPattern):
        check_patterns([pattern])


def test_a_website_is_its_host_with_and_without_www() -> None:
    extent = Extent.of("https://www.a.example/", [], [])
    assert extent.refusal("http://a.example/x") == ""
    assert extent.refusal("http://b.a.example/x") == "other_host"
    assert extent.refusal("http://a.example:8080/x") == "other_host"
    assert extent.refusal("http://a.example/x.PNG") == "not_a_document"


def test_paths_that_repeat_or_never_end_are_traps() -> None:
    assert is_trap("http://a.example/" + "x/" * 4)
    assert is_trap("http://a.example/" + "/".join(map(str, range(21))))
    assert not is_trap("http://a.example/a/b/a/b/c")
