"""When a token was last used, by which client and from where: collected in memory and written by a thread (D15).

The front repeats an answer for at most a minute (`http.ready.LONGEST`), so each token in use comes by here that often.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import DatabaseError, InterfaceError, connections
from django.db.models import Q
from django.utils import timezone

from apps.accounts.models import ApiToken
from apps.lib.process.write_behind import NotWritten, WriteBehind
from apps.lib.text.redaction import redact

PRECISION = timedelta(minutes=1)
WRITE_EVERY = timedelta(seconds=10)
MAX_TOKENS = 100_000


class Use(NamedTuple):
    at: datetime
    client: str
    address: str


class UsageBuffer(WriteBehind[int, Use]):
    """Uses that this process has not written yet."""

    def __init__(self) -> None:
        # close_all closes the connections of the calling thread: this one needs none between two writes.
        super().__init__(
            "token-usage", write=_write, merge=max, every=WRITE_EVERY, most=MAX_TOKENS, rest=connections.close_all
        )

    def record_use(self, token: ApiToken, *, agent: str, address: str) -> None:
        """Record a use now, by a User-Agent, at most one a minute by the row as it was read."""
        now = timezone.now()
        if token.last_used_at is None or now - token.last_used_at >= PRECISION:
            self.add(token.pk, Use(now, client_of(agent), address))


def client_of(agent: str) -> str:
    """Return `Terraform/1.11.4` from `HashiCorp Terraform/1.11.4 (+https://www.terraform.io)`; no secrets."""
    products = [word for word in redact(agent).partition("(")[0].split() if "/" in word]
    name = products[0] if products else agent.partition("/")[0]
    return "".join(sign for sign in redact(name) if sign.isprintable())[:60]


def _write(seen: Mapping[int, Use]) -> int:
    # The filter keeps to one write a minute across processes, and no row goes back in time.
    stale = Q(last_used_at=None) | Q(last_used_at__lte=min(use.at for use in seen.values()) - PRECISION)
    rows = [
        ApiToken(pk=pk, last_used_at=use.at, last_used_by=use.client, last_used_from=use.address)
        for pk, use in seen.items()
    ]
    columns = ["last_used_at", "last_used_by", "last_used_from"]
    try:
        return ApiToken.objects.filter(stale).bulk_update(rows, columns, batch_size=200)
    except (DatabaseError, InterfaceError) as error:
        raise NotWritten(str(error)) from error


_buffer = UsageBuffer()
record_use = _buffer.record_use
flush = _buffer.flush
start = _buffer.start
