"""The client and scheme of a request behind proxies: X-Forwarded-For and X-Forwarded-Proto.

Each proxy appends the address of its peer. Only entries of trusted proxies count, so the list is read from its right
end to the first untrusted address.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Self

from apps.lib.errors import Invalid

# Key of the WSGI environ: the peer is a trusted proxy. Clients cannot set it: keys of headers begin with HTTP_.
PROXIED = "larder.proxied"
LOOPBACK = ("127.0.0.0/8", "::1/128")


@dataclass(frozen=True, slots=True)
class TrustedProxies:
    """Trusted networks. `unix`: trust a peer on a Unix socket, which has no address."""

    networks: tuple[IPv4Network | IPv6Network, ...] = ()
    unix: bool = False

    @classmethod
    def parse(cls, words: Iterable[str]) -> Self:
        """Read addresses, CIDR networks, `loopback` and `unix`. Raises Invalid."""
        written = [part for word in words for part in (LOOPBACK if word == "loopback" else (word,))]
        try:
            networks = tuple(ip_network(word, strict=False) for word in written if word != "unix")
        except ValueError as error:
            raise Invalid(f"{error}", hint="Write addresses, networks such as 10.0.0.0/8, loopback or unix.") from None
        return cls(networks, unix="unix" in written)

    def __bool__(self) -> bool:
        return bool(self.networks) or self.unix

    @property
    def trusts_everybody(self) -> bool:
        return any(network.prefixlen == 0 for network in self.networks)

    def trusts(self, address: IPv4Address | IPv6Address | None) -> bool:
        if address is None:
            return self.unix
        return any(address in network for network in self.networks)


@dataclass(frozen=True, slots=True)
class Forwarded:
    """`scheme` is empty if no trusted proxy sent one. `is_proxied`: the peer is a trusted proxy."""

    client: str
    scheme: str = ""
    is_proxied: bool = False


def forwarded(proxies: TrustedProxies, *, peer: str, forwarded_for: str, forwarded_proto: str) -> Forwarded:
    """The client behind trusted proxies. Ignores both headers from any other peer."""
    address = parse_address(peer)
    client = str(address) if address else peer
    # Only a peer without any address is a Unix socket; an unparsable address is not.
    if not proxies.trusts(address) or (peer and not address):
        return Forwarded(client)
    hops = 0
    for entry in reversed(_entries(forwarded_for)):
        address = parse_address(entry)
        if address is None:
            break  # an untrusted host: ignore everything to its left
        client = str(address)
        hops += 1
        if not proxies.trusts(address):
            break
    schemes = _entries(forwarded_proto.lower())
    # Chained proxies either keep one value or append one each, in step with the addresses.
    scheme = schemes[-min(max(hops, 1), len(schemes))] if schemes else ""
    return Forwarded(client, scheme if scheme in ("http", "https") else "", is_proxied=True)


def parse_address(text: str) -> IPv4Address | IPv6Address | None:
    """Read `192.0.2.1`, `192.0.2.1:5678`, `2001:db8::1`, `[2001:db8::1]:443`; an IPv4 address in IPv6 becomes IPv4."""
    text = text.strip()
    if text.startswith("["):
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (address.ipv4_mapped if isinstance(address, IPv6Address) else None) or address


def network_of(address: str) -> str:
    """The network that limits count together: an IPv4 address, or the /64 that one IPv6 subscriber has at least."""
    found = parse_address(address)
    if isinstance(found, IPv6Address):
        return str(ip_network((found, 64), strict=False))
    return str(found) if found else address


def _entries(header: str) -> list[str]:
    return [entry for part in header.split(",") if (entry := part.strip())]
