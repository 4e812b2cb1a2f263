"""The rules for URLs and addresses that Larder may call on behalf of users (SSRF).

Which addresses are public is decided by the tables below, not by `is_global`, whose answers differ between Python 3.11
and 3.14. Sources: IANA's special-purpose address registries for IPv4
(https://www.iana.org/assignments/iana-ipv4-special-registry) and IPv6
(https://www.iana.org/assignments/iana-ipv6-special-registry), as of RFC 9780; multicast by RFC 5771 and RFC 4291.
"""

import socket
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import SplitResult, urlsplit

from apps.lib.errors import Invalid

MAX_URL_CHARACTERS = 500
ALLOW_SETTING = "LARDER_OUTGOING_ALLOW"
HTTPS_PORT = 443
SSH_PORT = 22
# On port 443 forges offer ssh to networks that let nothing else out: ssh.github.com, altssh.gitlab.com.
_PUBLIC_WAYS = {("https", HTTPS_PORT), ("ssh", SSH_PORT), ("ssh", HTTPS_PORT)}
PORTS = {"https": HTTPS_PORT, "http": 80, "ssh": SSH_PORT}

Address = IPv4Address | IPv6Address
Networks = tuple[IPv4Network | IPv6Network, ...]

# The whole registry, including what it calls globally reachable (192.0.0.9, 192.0.0.10, AS112, AMT): these anycast
# addresses lead to the nearest relay or sink, which is often in our own network and never a receiver.
_SPECIAL_IPV4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # carrier-grade NAT
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local, and the metadata services of clouds
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # IETF protocol assignments: 192.0.0.8 (dummy), 192.0.0.170 (NAT64 discovery) and others
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
    )
)
# IANA assigns global unicast addresses from 2000::/3 alone. Outside are among others ::/96 (IPv4-compatible),
# ::ffff:0:0:0/96 (SIIT), 64:ff9b:1::/48 (local translation), 100::/64 (discard), 5f00::/16 (segment routing), fc00::/7
# (unique local), fe80::/10 (link-local), fec0::/10 (site-local) and ff00::/8 (multicast).
_GLOBAL_IPV6 = IPv6Network("2000::/3")
_SPECIAL_IPV6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # IETF protocol assignments: Teredo, benchmarks, AMT, AS112, ORCHID, DRIP
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
    )
)
# IPv6 addresses that stand for an IPv4 address: mapped, and translated by a gateway (with DNS64 all of IPv4).
_FOR_IPV4 = (IPv6Network("::ffff:0:0/96"), IPv6Network("64:ff9b::/96"))
# For addresses that an operator chose.
ANYWHERE: Networks = (IPv4Network("0.0.0.0/0"), IPv6Network("::/0"))


def check_url(url: str, allowed: Networks = ()) -> str:
    """Return the URL. Raises Invalid for what would never be called.

    Names are resolved by requests alone, because they may change. So with `allowed` networks any name may have an
    address there; without them it must be a full name, with https on port 443.
    """
    check_parts(parts_of(url), allowed)
    return url


def check_parts(parts: SplitResult, allowed: Networks) -> None:
    host = parts.hostname or ""
    hint = f"Use https on port 443 of a public address, or ask an operator for {ALLOW_SETTING}."
    if check_literal(parts, allowed, hint=hint) or allowed:
        return
    if not _is_https(parts):
        raise Invalid(f"The URL uses {way_of(parts)}, expected https on port {HTTPS_PORT}.", hint=hint)
    if "." not in host or host.endswith("."):
        raise Invalid(f"The host is {host!r}, expected a full name such as hooks.acme.example.", hint=hint)


def check_literal(parts: SplitResult, allowed: Networks, *, hint: str) -> bool:
    """Return whether the host is an address and not a name. Raises Invalid for one that would never be called."""
    host = parts.hostname or ""
    # What `getaddrinfo` reads in a host without asking anyone: 2130706433, 0x7f.1 and 0177.0.0.1 are 127.0.0.1.
    address: Address | None = None
    with suppress(ValueError):
        address = ip_address(host)
    if address is None:
        with suppress(OSError):
            address = IPv4Address(socket.inet_aton(host))
    if address is not None and not may_connect(address, parts, allowed):
        raise Invalid(f"{host} with {way_of(parts)} is not allowed.", hint=hint)
    return address is not None


def parts_of(url: str, *, max_characters: int = MAX_URL_CHARACTERS) -> SplitResult:
    hint = "Use a URL such as https://hooks.acme.example/larder."
    if len(url) > max_characters or not url.isascii() or not url.isprintable() or " " in url:
        raise Invalid(f"The URL has more than {max_characters} characters, or others than plain ASCII.", hint=hint)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise Invalid("The host or port of the URL cannot be read.", hint=hint) from None
    if parts.scheme not in ("https", "http") or not parts.hostname:
        raise Invalid(f"The URL begins with {url[:20]!r}, expected https:// and a host.", hint=hint)
    if parts.username is not None or parts.password is not None:
        raise Invalid("The URL contains a user name or password.", hint="Check the signature instead.")
    return parts


def port_of(parts: SplitResult) -> int:
    return parts.port if parts.port is not None else PORTS.get(parts.scheme, 80)


def way_of(parts: SplitResult) -> str:
    return f"{parts.scheme} on port {port_of(parts)}"


def _is_https(parts: SplitResult) -> bool:
    return parts.scheme == "https" and port_of(parts) == HTTPS_PORT


def may_connect(address: Address, parts: SplitResult, allowed: Networks) -> bool:
    """Public addresses by https on its port, or by ssh; everything else only in a network that an operator allowed."""
    if any(address in network for network in _FOR_IPV4):
        address = IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address):
        is_public = address in _GLOBAL_IPV6 and not any(address in network for network in _SPECIAL_IPV6)
    else:
        is_public = not any(address in network for network in _SPECIAL_IPV4)
    return is_public and (parts.scheme, port_of(parts)) in _PUBLIC_WAYS
