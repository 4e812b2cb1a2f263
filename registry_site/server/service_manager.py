"""The messages to systemd about a process that it watches (`WatchdogSec`)."""

import socket
from contextlib import suppress

from registry_site import env

STILL_WELL = "WATCHDOG=1"


def tell(state: str) -> None:
    """Send it to the socket that the service manager named, if one did. Nothing waits for it, or fails without it."""
    address = env.text("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # one without a file
        address = f"\0{address[1:]}"
    with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as own:
        own.settimeout(0)
        own.sendto(state.encode(), address)
