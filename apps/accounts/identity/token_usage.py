"""When a token was last used: noted in memory, written by a thread of its own, never on the request path (D15)."""

from collections.abc import Mapping
from datetime import datetime, timedelta

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import ApiToken
from apps.lib.write_behind import NotWritten, WriteBehind

PRECISION = timedelta(minutes=1)
WRITE_EVERY = timedelta(seconds=10)
MAX_TOKENS = 100_000


class UsageBuffer:
    """What this process has seen and not yet written."""

    def __init__(self) -> None:
        # The thread's own connection is not worth standing open: close_all closes those of the calling thread.
        self._notes: WriteBehind[int, datetime] = WriteBehind(
            "token-usage", write=_write, merge=max, every=WRITE_EVERY, most=MAX_TOKENS, rest=connections.close_all
        )
        self.flush, self.start = self._notes.flush, self._notes.start

    def note(self, token: ApiToken) -> None:
        """Remember that the token was used now. The row as it was read tells whether a minute has passed."""
        now = timezone.now()
        if token.last_used_at is None or now - token.last_used_at >= PRECISION:
            self._notes.note(token.pk, now)


def _write(seen: Mapping[int, datetime]) -> int:
    # The filter holds "once a minute a token" for any number of processes, and lets no row go back in time.
    stale = Q(last_used_at=None) | Q(last_used_at__lte=min(seen.values()) - PRECISION)
    rows = [ApiToken(pk=pk, last_used_at=at) for pk, at in seen.items()]
    try:
        return ApiToken.objects.filter(stale).bulk_update(rows, ["last_used_at"], batch_size=200)
    except (DatabaseError, InterfaceError) as error:
        raise NotWritten(str(error)) from error


_notes = UsageBuffer()
note = _notes.note
flush = _notes.flush
start = _notes.start
