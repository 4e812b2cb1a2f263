"""Tell whether the database is away, and whether this process may repeat its last answers meanwhile
(LARDER_SERVE_STALE_SECONDS).

It may if it knows every change that a client was told of. The client that makes a change is told of it once the
database has answered again half a second later (`Changes.run_out`). So a process that has asked for changes less than
half a second before its question failed has seen the change: it asks all the time, with and without requests
(`keep_asking`). Two questions fail before the database counts as away, the second over a new connection, so that a lost
connection or a full server is no outage.

Nor is it one where another host still has the database: changes continue there, which this host does not hear of. Hosts
that share a Redis tell each other (`Outage.share`).
"""

import asyncio
import contextlib
import os
import socket
import time
from dataclasses import dataclass
from typing import Any

import structlog
from django.conf import settings
from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

from apps.audit import generation
from registry_site.backends import other_hosts
from registry_site.backends.other_hosts import WELL_SECONDS, OtherHosts

# How often a process asks, and how long a question may take before its connection is cut.
ASK_EVERY = 0.1
PATIENCE = 1.0
# How often hosts say that the database answers, and ask whether it does elsewhere.
SHARE_EVERY = 0.5
# SQLSTATEs of a server that answers and is about to end, or has just begun.
_STOPPING = ("57P01", "57P02", "57P03")

log = structlog.get_logger("larder.front")


@dataclass(slots=True)
class Outage:
    """On the event loop; `lasts` in any thread."""

    seconds: float
    since: float | None = None  # the first question that failed, by time.monotonic()
    is_known_before: bool = False  # what was changed before it is known
    is_sure: bool = False
    is_alone: bool = False  # the database answers elsewhere
    others: OtherHosts | None = None
    _sharing: "asyncio.Task[None] | None" = None
    _shared_at: float = float("-inf")

    def fails(self, *, began: float, asked: float, error: BaseException) -> None:
        """A question that began then has failed; the last one that was answered was asked at `asked`."""
        if not self.seconds or not is_no_answer(error):
            return
        if self.since is None:
            self.since, self.is_known_before = began, began - asked < generation.KNOWN_WITHIN
            return
        if not self.is_sure:
            self.is_sure = True
            log.warning("serving_stale" if self.is_known_before else "not_serving_stale", seconds=self.seconds)

    def ends(self) -> None:
        if self.is_sure:
            log.info("database_back", seconds=round(time.monotonic() - (self.since or 0.0), 1))
        self.since, self.is_known_before, self.is_sure, self.is_alone = None, False, False, False

    def share(self, *, is_well: bool) -> None:
        """Tell other hosts that the database has just answered, or ask them while it is away; in the background."""
        now = time.monotonic()
        is_under_way = self._sharing is not None and not self._sharing.done()
        if self.others is None or is_under_way or now < self._shared_at + SHARE_EVERY:
            return
        if is_well:
            self._sharing = asyncio.get_running_loop().create_task(self.others.say_well())
        elif self.is_sure:
            self._sharing = asyncio.get_running_loop().create_task(self._listen(self.others))
        else:
            return
        self._shared_at = now

    async def _listen(self, others: OtherHosts) -> None:
        heard = await others.is_well_somewhere()
        # What was said while it answered here as well has ended since.
        if heard is None or self.since is None or time.monotonic() < self.since + WELL_SECONDS + SHARE_EVERY:
            return
        if heard and not self.is_alone:
            log.warning("database_away_from_this_host_alone")
        self.is_alone = heard

    @property
    def until(self) -> float:
        return (self.since or 0.0) + self.seconds

    def lasts(self) -> bool:
        """The database is away, and what was answered before may be repeated."""
        return self.is_sure and not self.is_alone and self.is_known_before and time.monotonic() < self.until


def is_no_answer(error: BaseException) -> bool:
    """Return whether nothing answered. A server that refuses one connection more serves the others."""
    state = getattr(error.__cause__, "sqlstate", None) or ""
    return not state or state in _STOPPING or state.startswith("08")


def configured() -> Outage:
    return Outage(settings.SERVE_STALE_SECONDS, others=other_hosts.chosen())


def connect() -> BaseDatabaseWrapper:
    """A connection that no pool lends."""
    default = connections["default"].settings_dict
    options = {name: value for name, value in default["OPTIONS"].items() if name != "pool"}
    if settings.SERVE_STALE_SECONDS and "connect_timeout" in options:
        options["connect_timeout"] = 2  # libpq's least
    if "timeout" in options:
        options["timeout"] = 0.2  # SQLite is asked on the event loop
    return type(connections["default"])({**default, "OPTIONS": options}, "default")


def cut(connection: BaseDatabaseWrapper) -> None:
    """End a question that is not answered, in another thread: it fails, and the next one has a new connection."""
    inner: Any = connection.connection
    # It has ended meanwhile, has no connection yet, or is SQLite's, which has no line.
    with contextlib.suppress(Exception), socket.socket(fileno=os.dup(inner.fileno())) as line:
        line.shutdown(socket.SHUT_RDWR)
