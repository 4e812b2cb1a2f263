"""The clients that ask most, by network address, for /metrics: an operator finds the one that floods a registry."""

import time

from apps.lib.net.forwarding import network_of

WINDOW_SECONDS = 300.0
SHOWN = 10
# Beyond it the less busy half is forgotten.
MAX_CLIENTS = 10_000


class Clients:
    """Counts within this window and the one before. A count that is lost between threads does not matter."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._before: dict[str, int] = {}
        self._until = time.monotonic() + WINDOW_SECONDS

    def note(self, client: str) -> None:
        """Cheap: each answer from memory calls it."""
        counts = self._counts
        counts[client] = counts.get(client, 0) + 1
        if len(counts) > MAX_CLIENTS:
            self._counts = dict(_busiest(counts.copy(), MAX_CLIENTS // 2))

    def top(self) -> dict[str, int]:
        """Return the requests of the busiest networks within the last five to ten minutes."""
        now = time.monotonic()
        if now > self._until:
            is_recent = now < self._until + WINDOW_SECONDS
            self._before, self._counts = (self._counts if is_recent else {}), {}
            self._until = now + WINDOW_SECONDS
        found: dict[str, int] = {}
        for counts in (self._before.copy(), self._counts.copy()):
            for client, count in counts.items():
                network = str(network_of(client))
                found[network] = found.get(network, 0) + count
        return dict(_busiest(found, SHOWN))


def _busiest(counts: dict[str, int], most: int) -> list[tuple[str, int]]:
    return sorted(counts.items(), key=lambda one: -one[1])[:most]


clients = Clients()
