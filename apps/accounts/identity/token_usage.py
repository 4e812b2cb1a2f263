"""When a token was last used: collected in memory and written by a thread, never by a request (D15)."""

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
    """Uses that this process has not written yet."""

    def __init__(self) -> None:
        # close_all closes the connections of the calling thread: this one needs none between two writes.
        self._unwritten: WriteBehind[int, datetime] = WriteBehind(
            "token-usage", write=_write, merge=max, every=WRITE_EVERY, most=MAX_TOKENS, rest=connections.close_all
        )
        self.flush, self.start = self._unwritten.flush, self._unwritten.start

    def record_use(self, token: ApiToken) -> None:
        """Record a use now, at most one a minute by the row as it was read."""
        now = timezone.now()
        if token.last_used_at is None or now - token.last_used_at >= PRECISION:
            self._unwritten.add(token.pk, now)


def _write(seen: Mapping[int, datetime]) -> int:
    # The filter keeps to one write a minute across processes, and no row goes back in time.
    stale = Q(last_used_at=None) | Q(last_used_at__lte=min(seen.values()) - PRECISION)
    rows = [ApiToken(pk=pk, last_used_at=at) for pk, at in seen.items()]
    try:
        return ApiToken.objects.filter(stale).bulk_update(rows, ["last_used_at"], batch_size=200)
    except (DatabaseError, InterfaceError) as error:
        raise NotWritten(str(error)) from error


_buffer = UsageBuffer()
record_use = _buffer.record_use
flush = _buffer.flush
start = _buffer.start
