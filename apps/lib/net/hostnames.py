"""Host names as clients compare and send them: IDNA for lookup, lower case, ASCII labels."""

import re
from collections.abc import Iterable
from contextlib import suppress

import idna

from apps.lib.errors import Invalid

_ASCII = re.compile(r"[0-9a-z.-]+", re.ASCII)
_ENCODED = "xn--"
_USUAL_PORT = ":443"


def normalised(text: str) -> str:
    """`Bücher.example` → `xn--bcher-kva.example`. Raises Invalid for other text, and for a port.

    The URL path of a network mirror has the host of a provider's address, without a port.
    """
    name = text.strip().lower()
    if ":" in name:
        raise Invalid(
            f"{text[:80]!r} has a colon, expected a host name without a port",
            hint="Leave the port out: clients do not support ports in the URL of a network mirror.",
        )
    try:
        # Like browsers and Go's `idna.Lookup`: UTS 46 mapping, without the IDNA 2003 rules for ß and ς.
        encoded = idna.encode(name, uts46=True).decode() if not name.isascii() else name
    except (idna.IDNAError, UnicodeError) as error:
        raise Invalid(f"{text[:80]!r} is not a host name: {error}") from None
    if not _ASCII.fullmatch(encoded):
        raise Invalid(f"{text[:80]!r} is not a host name, expected letters, digits, dashes and dots")
    return encoded


def on_the_wire(host: str) -> str:
    """`Bücher.example:8443` → `xn--bcher-kva.example:8443`, as in requests. Raises Invalid.

    Only lower-cases ASCII: an IPv6 address contains colons.
    """
    if host.isascii():
        return host.lower()
    name, colon, port = host.partition(":")
    return f"{normalised(name)}{colon}{port}"


def is_one_of(host: str, hosts: Iterable[str]) -> bool:
    """Compare as clients do: in any spelling, and `:443` is no port. False for text that is no host."""
    try:
        return _without_usual_port(host) in {_without_usual_port(one) for one in hosts}
    except Invalid:
        return False


def as_written(host: str) -> str:
    """`xn--bcher-kva.example:8443` → `bücher.example:8443`. Clients refuse the encoded form in configurations."""
    name, colon, port = host.partition(":")
    labels = name.split(".")
    for at, label in enumerate(labels):
        if label.startswith(_ENCODED):
            with suppress(idna.IDNAError):
                labels[at] = idna.ulabel(label)
    return ".".join(labels) + colon + port


def _without_usual_port(host: str) -> str:
    return on_the_wire(host).removesuffix(_USUAL_PORT)
