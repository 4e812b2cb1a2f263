"""The digests in quarantine as this process last knew them: what holds while the database is away (D6).

While it answers, every fetch asks it (`ReleaseQuerySet.with_bytes`) and nobody needs this list. A thread renews it, so
that a process which has served no archive for an hour knows as much as any other. One that could not ask even once
since its start knows of none.
"""

import threading
from collections.abc import Mapping
from datetime import timedelta

import structlog
from django.db import DatabaseError, InterfaceError, connections

from apps.lib.archives import Refusal
from apps.lib.errors import NotFound, Reason
from apps.releases.models import Release, ReleaseBlob

EVERY = timedelta(seconds=2)
# 64 characters each: a few MB. More than this in quarantine at once is an incident that stops more than downloads.
MOST = 50_000

log = structlog.get_logger("larder.releases")


class Blocked:
    def __init__(self) -> None:
        self._digests: frozenset[str] = frozenset()
        self._lock = threading.Lock()
        self._is_started = False

    def __contains__(self, digest: str) -> bool:
        return digest in self._digests

    def renew(self) -> None:
        rows = Release.objects.filter(quarantined_at__isnull=False).order_by("-quarantined_at", "-pk")
        parts = ReleaseBlob.objects.filter(release__quarantined_at__isnull=False)
        newest = parts.order_by("-release__quarantined_at", "-pk")
        found = [*rows.values_list("digest", flat=True)[:MOST], *newest.values_list("digest", flat=True)[:MOST]]
        self._digests = frozenset(found)

    def forget(self) -> None:
        """Know of none, as a process that has just begun."""
        self._digests = frozenset()

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


def refuse_blocked(release: Release) -> None:
    """Raises NotFound where its bytes are in quarantine, its own or another's with the same: no page shows them."""
    if not Release.objects.with_bytes(release.digest).filter(pk=release.pk).exists():
        raise NotFound(
            f"The files of {release} are not shown: the same bytes are in quarantine.",
            mend="Ask those who operate this registry.",
        )


def refuse_quarantined(files: Mapping[str, str]) -> None:
    """`files` are names by their digests. Raises Refusal for those whose bytes are in quarantine under whatever name:
    what is published of them could be listed, and fetched by nobody. Whose release it is stays untold (D8).
    """
    rows = Release.objects.filter(quarantined_at__isnull=False, digest__in=files).values_list("digest")
    parts = ReleaseBlob.objects.filter(release__quarantined_at__isnull=False, digest__in=files).values_list("digest")
    found = {digest for (digest,) in rows.union(parts)}
    if found:
        raise Refusal([_in_quarantine(digest, files[digest]) for digest in files if digest in found])


def _in_quarantine(digest: str, name: str) -> Reason:
    return Reason(
        code="quarantined",
        found=f"bytes that are in quarantine here (sha256:{digest})",
        expected="bytes that may be fetched",
        mend="Build it anew without what was wrong with them, or ask those who operate this registry to release them",
        file=name,
    )


blocked = Blocked()
start = blocked.start
