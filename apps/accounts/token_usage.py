"""When a token was last used: noted in memory, written by a thread of its own, never on the request path (D15)."""

import threading
from collections.abc import Mapping
from datetime import datetime, timedelta
from multiprocessing.util import Finalize

import structlog
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import ApiToken

PRECISION = timedelta(minutes=1)
WRITE_EVERY = timedelta(seconds=10)

log = structlog.get_logger(__name__)


class UsageNotes:
    """What this process has seen and not yet written. A crash loses ten seconds of it, a clean stop nothing."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[int, datetime] = {}
        self._started = False

    def note(self, token: ApiToken) -> None:
        """Remember that the token was used now. The row as it was read tells whether a minute has passed."""
        now = timezone.now()
        if token.last_used_at is None or now - token.last_used_at >= PRECISION:
            with self._lock:
                self._seen[token.pk] = now

    def flush(self) -> int:
        """Write what was seen; answers how many rows changed."""
        with self._lock:
            seen, self._seen = self._seen, {}
        if not seen:
            return 0
        try:
            return _write(seen)
        except (DatabaseError, InterfaceError):
            log.warning("token usage not written, kept for the next time", tokens=len(seen))
            with self._lock:
                self._seen = seen | self._seen
            return 0

    def start(self) -> None:
        """Begin writing in the background, once a process: web processes call it, commands and tests do not."""
        with self._lock:
            if self._started:
                return
            self._started = True
        threading.Thread(target=self._run, name="token-usage", daemon=True).start()
        # Runs at a clean exit of the main process and of a multiprocessing child alike (atexit misses the latter).
        Finalize(None, self.flush, exitpriority=10)

    def _run(self) -> None:
        pause = threading.Event()
        while True:
            pause.wait(WRITE_EVERY.total_seconds())
            self.flush()
            connection.close()  # this thread's own; it is not worth a standing connection


def _write(seen: Mapping[int, datetime]) -> int:
    # The filter holds "once a minute a token" for any number of processes, and lets no row go back in time.
    stale = Q(last_used_at=None) | Q(last_used_at__lte=min(seen.values()) - PRECISION)
    rows = [ApiToken(pk=pk, last_used_at=at) for pk, at in seen.items()]
    return ApiToken.objects.filter(stale).bulk_update(rows, ["last_used_at"], batch_size=200)


_notes = UsageNotes()
note = _notes.note
flush = _notes.flush
start = _notes.start
