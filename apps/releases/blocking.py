"""The digests in quarantine as this process last knew them: what holds while the database is away (D6).

While it answers, every fetch asks it (`ReleaseQuerySet.with_bytes`) and nobody needs this list. A thread renews it, so
that a process which has served no archive for an hour knows as much as any other. One that could not ask even once
since its start knows of none.
"""

import threading
from collections.abc import Callable, Iterable
from datetime import timedelta

import structlog
from django.db import DatabaseError, InterfaceError, connections

from apps.releases.models import Release

EVERY = timedelta(seconds=2)
# 64 characters each: a few MB. More than this in quarantine at once is an incident that stops more than downloads.
MOST = 50_000

# Kinds of releases whose bytes are more than one blob say here which: this room knows no kinds.
_sources: list[Callable[[int], Iterable[str]]] = []

log = structlog.get_logger("larder.releases")


def also(source: Callable[[int], Iterable[str]]) -> None:
    """Ask this too, with the most that it should answer, at every renewal."""
    if source not in _sources:
        _sources.append(source)


class Blocked:
    def __init__(self) -> None:
        self._digests: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._is_started = False

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def renew(self) -> None:
        rows = Release.objects.filter(quarantined_at__isnull=False).order_by("-quarantined_at", "-pk")
        found = set(rows.values_list("digest", flat=True)[:MOST])
        for source in _sources:
            found.update(source(MOST))
        self._digests = frozenset(found)

    def start(self) -> None:
        """Begin to renew, once a process: web processes call it, commands and tests do not."""
        with self._lock:
            if self._is_started:
                return
            self._is_started = True
        threading.Thread(target=self._run, name="blocked-digests", daemon=True).start()

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            try:
                self.renew()
            except (DatabaseError, InterfaceError) as error:
                log.warning("blocked-not-renewed", error=type(error).__name__)
            except Exception:
                log.exception("blocked-not-renewed")
            # The thread's own connection is not worth standing open: close_all closes those of the calling thread.
            connections.close_all()
            pause.wait(EVERY.total_seconds())


blocked = Blocked()
start = blocked.start
