"""The archives that are still served while the database is away (D6)."""

import threading
from collections.abc import Collection

from apps.audit import generation


class LastPublic:
    """Digests last seen as public by this process, with the public namespaces that have published them."""

    MAX_DIGESTS = 20_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digests: dict[str, frozenset[str]] = {}

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def clear(self) -> None:
        with self._lock:
            self._digests.clear()

    def update(self, digest: str, places: Collection[str]) -> None:
        """`places`: the canonical names of those namespaces."""
        with self._lock:
            self._digests.pop(digest, None)
            if places:
                self._digests[digest] = frozenset(places)
            if len(self._digests) > self.MAX_DIGESTS:
                del self._digests[next(iter(self._digests))]  # the least recently requested

    def end(self, scopes: Collection[str]) -> None:
        """Forget what a change of these scopes may have hidden: it is looked up when it is asked for again."""
        ended = set(scopes)
        with self._lock:
            if generation.EVERYTHING in ended:
                self._digests.clear()
                return
            for digest in [digest for digest, places in self._digests.items() if places & ended]:
                del self._digests[digest]


last_public = LastPublic()
