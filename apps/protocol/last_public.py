"""The archives that go on being served while the database is away (D6)."""

import threading


class LastPublic:
    """Digests last seen as public by this process."""

    MAX_DIGESTS = 20_000

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._digests: dict[str, None] = {}

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def clear(self) -> None:
        with self._lock:
            self._digests.clear()

    def update(self, digest: str, *, is_public: bool) -> None:
        with self._lock:
            self._digests.pop(digest, None)
            if is_public:
                self._digests[digest] = None
            if len(self._digests) > self.MAX_DIGESTS:
                del self._digests[next(iter(self._digests))]  # the least recently requested


last_public = LastPublic()
