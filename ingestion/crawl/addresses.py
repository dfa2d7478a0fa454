"""Where a name leads, and whether the crawler may go there.

A server is reached by the address that was checked, never by its name a second time, so a name
that changes its mind between check and connection (DNS rebinding) gains nothing. Refused is what
is not plainly public: private, loopback, link-local (cloud metadata lives there), shared (CGNAT),
multicast and reserved ranges, and the same wrapped into IPv6. One refused address among several
refuses the name. What the operator names in CRAWL_ALLOWED_HOSTS is exempt: `intranet.example` on
the usual ports, `intranet.example:8080` on that one, `intranet.example:*` on all. An IPv6 address
stands in brackets, as in a link: `[::1]:8080`.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dolphy import environment
from ingestion.crawl.errors import AddressRefused, HostNotFound, UrlRefused

PORTS = {"http": 80, "https": 443}
Resolver = Callable[[str, int], Sequence[str]]

_GLOBAL_UNICAST = ipaddress.IPv6Network("2000::/3")
_REFUSED = tuple(
    ipaddress.ip_network(net)
    for net in (
        "192.0.0.0/24",  # protocol assignments, a cloud's metadata among them
        "192.88.99.0/24",  # 6to4 relays
        "168.63.129.16/32",  # a cloud's own services behind a public-looking address
        "100.64.0.0/10",  # shared address space
        "2001::/32",  # Teredo
        "2001:10::/28",  # ORCHID
        "2001:20::/28",
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "3fff::/20",  # documentation
    )
)


@dataclass(frozen=True)
class Allowed:
    """Hosts that the operator exempts, as written in the environment."""

    entries: frozenset[str]

    @classmethod
    def from_environment(cls) -> Allowed:
        return cls(frozenset(word.lower() for word in environment.words("CRAWL_ALLOWED_HOSTS")))

    def permits(self, host: str, port: int) -> bool:
        host = bracketed(host)
        usual = {host} if port in PORTS.values() else set()
        return bool(self.entries & ({f"{host}:{port}", f"{host}:*"} | usual))


def bracketed(host: str) -> str:
    """A host as it stands before a port."""
    return f"[{host}]" if ":" in host else host


def resolve(host: str, port: int) -> list[str]:
    """Every address of a host, as the system finds them. Raises `HostNotFound`."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise HostNotFound from error
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


def checked(host: str, port: int, *, resolver: Resolver, allowed: Allowed) -> list[str]:
    """The addresses to connect to. Raises `UrlRefused` for the port, `AddressRefused`,
    `HostNotFound`."""
    exempt = allowed.permits(host, port)
    if port not in PORTS.values() and not exempt:
        raise UrlRefused(f"Port {port} is not crawled. {how_to_allow(host, port)}")
    found = list(resolver(host, port))
    if not found:
        raise HostNotFound
    if not exempt and not all(map(is_public, found)):
        raise AddressRefused(how_to_allow(host, port))
    return found


def how_to_allow(host: str, port: int) -> str:
    """What the operator sets for a host that is refused, and where."""
    return (
        f"The operator exempts it with CRAWL_ALLOWED_HOSTS={bracketed(host)}:{port}, which web and "
        "worker need as well as a command."
    )


def is_public(text: str) -> bool:
    """Whether an address belongs to the open internet; text that is no address does not."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv6Address) and address not in _GLOBAL_UNICAST:
        return False  # mapped, translated (NAT64), unique local, link-local, multicast, loopback
    if any(address.version == net.version and address in net for net in _REFUSED):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
