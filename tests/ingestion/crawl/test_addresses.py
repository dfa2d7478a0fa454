"""Where the crawler may go."""

from __future__ import annotations

import pytest

from ingestion.crawl.addresses import Allowed, checked, is_public, resolve
from ingestion.crawl.errors import AddressRefused, HostNotFound, UrlRefused
from ingestion.crawl.fetch import Fetcher

NOBODY = Allowed(frozenset())

REFUSED = [
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "172.31.255.255",
    "192.168.1.1", "169.254.169.254", "169.254.170.2", "100.64.0.1", "100.100.100.200",
    "168.63.129.16", "192.0.0.192", "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.1",
    "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "192.88.99.1", "::", "::1",
    "::ffff:127.0.0.1", "::ffff:8.8.8.8", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b::8.8.8.8",
    "64:ff9b:1::1", "fe80::1", "fe80::1%eth0", "fec0::1", "fc00::1", "fd00:ec2::254", "ff02::1",
    "2001::1", "2001:db8::1", "2002:7f00:1::", "100::1", "5f00::1", "localhost", "nonsense",
]  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_what_is_not_plainly_public_is_refused(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "93.184.216.34", "2606:4700::1111"])
def test_public_addresses_are_not_refused(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost.",
        "127.0.0.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "127.1",
        "0",
        "169.254.169.254",
        "2852039166",
        "0xa9fea9fe",
        "[::1]",
        "[::]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a9fe:a9fe]",
        "[64:ff9b::a9fe:a9fe]",
        "[fe80::1]",
    ],
)
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_no_way_to_write_an_inner_address_gets_through(host: str, scheme: str) -> None:
    with pytest.raises((AddressRefused, HostNotFound)):
        Fetcher(allowed=NOBODY).fetch(f"{scheme}://{host}/", lambda headers: 100)


@pytest.mark.parametrize(
    "url",
    [
        "ftp://example.com/",
        "file:///etc/passwd",
        "gopher://example.com/",
        "http://user:secret@example.com/",
        "http://user@example.com/",
        "http://example.com:22/",
        "http://example.com:6379/",
        "http://example.com:99999/",
        "http:///path",
        "http://",
        "//example.com/",
        "http://exa mple.com/",
        "http://example.com/\r\nX: y",
        "http://[::1",
        "",
    ],
)
def test_what_is_no_address_of_a_web_page_is_refused(url: str) -> None:
    with pytest.raises(UrlRefused):
        Fetcher(allowed=NOBODY, resolver=lambda host, port: ["8.8.8.8"]).fetch(
            url, lambda headers: 100
        )


def test_one_inner_address_among_public_ones_refuses_the_name() -> None:
    with pytest.raises(AddressRefused):
        checked(
            "two.example", 80, resolver=lambda host, port: ["8.8.8.8", "10.0.0.1"], allowed=NOBODY
        )


def test_the_operator_allows_by_name_and_port() -> None:
    allowed = Allowed(frozenset({"wiki.example", "wiki.example:8080", "all.example:*"}))
    assert allowed.permits("wiki.example", 443)
    assert allowed.permits("wiki.example", 8080)
    assert not allowed.permits("wiki.example", 8081)
    assert allowed.permits("all.example", 9)
    assert not allowed.permits("other.example", 80)


def test_the_environment_names_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CRAWL_ALLOWED_HOSTS", "Wiki.Example, 127.0.0.1:9000")
    assert Allowed.from_environment().entries == {"wiki.example", "127.0.0.1:9000"}


def test_a_name_of_nobody_is_not_found() -> None:
    with pytest.raises(HostNotFound):
        resolve("nobody.invalid", 80)


def test_the_operator_allows_an_ipv6_address_in_brackets(monkeypatch: pytest.MonkeyPatch) -> None:
    def inner(host: str, port: int) -> list[str]:
        return ["::1"]

    monkeypatch.setenv("CRAWL_ALLOWED_HOSTS", "[::1]:8080, [fd00::5]")
    allowed = Allowed.from_environment()
    assert checked("::1", 8080, resolver=inner, allowed=allowed) == ["::1"]
    assert allowed.permits("fd00::5", 443)
    with pytest.raises(AddressRefused, match=r"CRAWL_ALLOWED_HOSTS=\[::1\]:80,"):
        checked("::1", 80, resolver=inner, allowed=allowed)
