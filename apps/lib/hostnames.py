"""Host names as clients compare and send them: IDNA for lookup, lower case, each label in ASCII."""

import re

import idna

from apps.lib.errors import Invalid

_ASCII = re.compile(r"[0-9a-z.-]+", re.ASCII)
_ENCODED = "xn--"


def normalised(text: str) -> str:
    """`Bücher.example` → `xn--bcher-kva.example`. Raises Invalid where it is no host name, or has a port.

    A network mirror's URL names the host of a provider's address in its path, where a client can write no port.
    """
    name = text.strip().lower()
    if ":" in name:
        raise Invalid(
            f"{text[:80]!r} has a colon, expected a host name without a port",
            mend="Leave the port out: clients cannot name one in the URL of a network mirror.",
        )
    try:
        # As browsers and Go's `idna.Lookup` do it: mapped by UTS 46, without the rules of 2003 for ß and ς.
        found = idna.encode(name, uts46=True).decode() if not name.isascii() else name
    except (idna.IDNAError, UnicodeError) as error:
        raise Invalid(f"{text[:80]!r} is no host name: {error}") from None
    if not _ASCII.fullmatch(found):
        raise Invalid(f"{text[:80]!r} is no host name, expected letters, digits, dashes and dots")
    return found


def on_the_wire(host: str) -> str:
    """`Bücher.example:8443` → `xn--bcher-kva.example:8443`, as requests name it. Raises Invalid.

    What is ASCII stays as it is but for capitals: an IPv6 address has colons of its own.
    """
    if host.isascii():
        return host.lower()
    name, colon, port = host.partition(":")
    return f"{normalised(name)}{colon}{port}"


def as_written(host: str) -> str:
    """`xn--bcher-kva.example:8443` → `bücher.example:8443`. Clients refuse the encoded form in what people write."""
    name, colon, port = host.partition(":")
    return ".".join(_decoded(label) for label in name.split(".")) + colon + port


def _decoded(label: str) -> str:
    if not label.startswith(_ENCODED):
        return label
    try:
        return idna.ulabel(label)
    except idna.IDNAError:
        return label
