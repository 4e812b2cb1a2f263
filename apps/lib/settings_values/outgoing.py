"""Limits of requests to hosts that others name, such as Git servers."""

import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network

from apps.lib.errors import Invalid
from apps.lib.net.addresses import Networks


@dataclass(frozen=True, slots=True)
class Outgoing:
    """The settings of all hosts of one purpose, such as the Git servers that namespaces publish from."""

    allow: Networks = ()  # besides public addresses
    ca_file: str = ""  # PEM certificates trusted besides the system's
    proxy: str = ""  # the outgoing HTTP proxy of all that name none


def networks_of(words: Iterable[str]) -> Networks:
    """Read addresses and networks such as 10.0.0.0/8. Raises Invalid."""
    try:
        return tuple(ip_network(word) for word in words)
    except ValueError as error:
        raise Invalid(f"{error}", hint="Expected networks such as 10.20.0.0/16.") from None


def certificates_in(file: str) -> str:
    """Return the file, or none. Raises Invalid unless it is readable and has a certificate."""
    if file:
        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
        except ssl.SSLError:
            raise Invalid(f"{file} has no certificate that can be read.", hint="Expected PEM certificates.") from None
        except OSError as error:
            raise Invalid(f"{file} cannot be read: {error.strerror}.", hint="Every process reads it.") from None
    return file
