"""Limits of requests to other registries and to Git repositories."""

import os
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_network

from apps.lib.errors import Invalid
from apps.lib.net.addresses import Networks


@dataclass(frozen=True, slots=True)
class Upstream:
    """The settings of all registries whose providers are mirrored."""

    allow: Networks = ()  # besides public addresses
    ca_file: str = ""  # PEM certificates trusted besides the system's
    proxy: str = ""  # the outgoing HTTP proxy of all that name none
    advisories: str = ""  # a folder of OSV files
    wait_seconds: int = 55  # a client waits so long for a fetch
    connections: int = 4  # to one host at once, for each worker


@dataclass(frozen=True, slots=True)
class Sources:
    """The settings of all Git repositories that namespaces publish from."""

    allow: Networks = ()  # besides public addresses
    ca_file: str = ""  # PEM certificates trusted besides the system's
    proxy: str = ""  # the outgoing HTTP proxy


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


def readable_folder(folder: str) -> str:
    """Return the folder, or none. Raises Invalid unless its files can be listed."""
    if folder:
        try:
            with os.scandir(folder):
                pass
        except OSError as error:
            raise Invalid(
                f"{folder} cannot be read: {error.strerror}.",
                hint="Expected a folder of OSV files.",
            ) from None
    return folder
