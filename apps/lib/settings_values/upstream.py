from dataclasses import dataclass

from apps.lib.net.addresses import Networks


@dataclass(frozen=True, slots=True)
class Upstream:
    """What holds for all registries whose providers are mirrored."""

    allow: Networks = ()  # besides public addresses
    ca_file: str = ""  # PEM certificates trusted besides the system's
    proxy: str = ""  # the outgoing HTTP proxy of all that name none
    advisories: str = ""  # a folder of OSV files
    wait_seconds: int = 55  # a client waits so long for a fetch
    connections: int = 4  # to one host at once, for each worker
