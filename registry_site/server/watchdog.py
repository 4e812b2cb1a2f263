"""Ends a worker that takes no more work, so that its service manager starts another: nothing else would notice.

Every few seconds a thread compares what the loop has done since. A worker is asleep if the broker answers and the loop
stands still, has a free slot and no socket to wait for work on, or takes nothing from a queue that has some. It counts
looks and not time: a host that was suspended, or a process that was stopped, had none. A task may last for hours: a
worker is ended only when it is busy with none.
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import structlog

from registry_site.backends.activity import Activity, of_this_worker
from registry_site.server import service_manager

if TYPE_CHECKING:
    from celery import Celery
    from kombu import Connection

EVERY = timedelta(seconds=5)
# A minute.
MAX_LOOKS_ASLEEP = 12
# Why a worker takes no work: asleep, or by the fault of another, or because it is not there to take any.
STANDS_STILL, NO_SOCKET, TAKES_NOTHING = ASLEEP = ("stands_still", "no_socket", "takes_nothing")
BROKER_AWAY, STARTS_OR_STOPS = "broker_away", "starts_or_stops"

log = structlog.get_logger("larder.watchdog")


class BrokerAway(Exception):
    """The broker does not answer: a worker waits for it, and starting another would not help."""


class Broker:
    """The waiting messages, read by a connection of its own: what the loop's cannot reach, another may."""

    def __init__(self, app: "Celery[Any]", queues: list[str]) -> None:
        self._app, self._queues = app, queues
        self._connection: Connection | None = None

    def waiting(self) -> set[str]:
        """Return the queues that have work. Raises BrokerAway."""
        try:
            if self._connection is None:
                self._connection = self._app.connection_for_read()
            channel: Any = self._connection.default_channel  # of one of our transports
            return set(channel.queues_with_work(self._queues))
        except Exception as error:
            # kombu's transports raise errors of their own kinds.
            self._close()
            raise BrokerAway(type(error).__name__) from error

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.release()


class Watchdog:
    """Looks at the loop of this process. `busy` returns how many of its `slots` have a task now.

    `end` is called with the reason, of ASLEEP, and need not return. Set `ready` when the loop begins; `stopping` is set
    when the worker was told to stop: it then takes nothing, and its last tasks may last.
    """

    def __init__(
        self,
        waiting: Callable[[], set[str]],
        *,
        slots: int,
        busy: Callable[[], int],
        end: Callable[[str], None],
        stopping: threading.Event,
        activity: Activity = of_this_worker,
    ) -> None:
        self._waiting, self._slots, self._busy, self._end = waiting, slots, busy, end
        self._stopping = stopping
        self._activity, self._before = activity, replace(activity)
        self._looks_asleep = 0  # in succession
        self._well_at = float("-inf")
        self.ready = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    def is_well(self) -> bool:
        """Return whether the last look, a moment ago, found that this worker takes what there is."""
        return time.monotonic() - self._well_at < 4 * EVERY.total_seconds()

    def look(self) -> None:
        before, self._before = self._before, replace(self._activity)
        reason = self._why_unwell(before, self._before)
        self._well_at = float("-inf") if reason else time.monotonic()
        self._looks_asleep = self._looks_asleep + 1 if reason in ASLEEP and not self._busy() else 0
        if self._looks_asleep >= MAX_LOOKS_ASLEEP:
            self._end(reason)
        else:
            # By the thread that would end this process: if it hangs itself, the service manager does.
            service_manager.tell(service_manager.STILL_WELL)

    def _why_unwell(self, before: Activity, now: Activity) -> str:
        if self._stopping.is_set() or not self.ready.is_set():
            return STARTS_OR_STOPS
        try:
            waiting = self._waiting()
        except BrokerAway as error:
            log.warning("watchdog_waits_for_broker", error=str(error))
            return BROKER_AWAY
        return "" if now.taken != before.taken else self._why_idle(before, now, waiting)

    def _why_idle(self, before: Activity, now: Activity, waiting: set[str]) -> str:
        """Return why it took nothing; empty if there was nothing to take, or no slot for it."""
        if now.rounds == before.rounds:
            return STANDS_STILL
        if self._busy() >= self._slots:
            return ""
        if now.listens == before.listens:
            return NO_SOCKET
        return TAKES_NOTHING if waiting else ""

    def _run(self) -> None:
        while True:
            time.sleep(EVERY.total_seconds())
            try:
                self.look()
            except Exception:
                log.exception("watchdog_failed")
