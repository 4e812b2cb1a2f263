"""Host names as clients compare and send them: IDNA for lookup, lower case, each label in ASCII."""

import re

import idna

from apps.lib.errors import Invalid

_ASCII = re.compile(r"[0-9a-z.-]+", re.ASCII)


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
