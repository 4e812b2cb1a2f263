"""The schedule file of Celery's beat: when it last rang for what, so that a restart postpones nothing that is due once
a day.
"""

import shelve
from dbm import dumb
from functools import partial
from typing import Any

import structlog
from celery.beat import PersistentScheduler, ScheduleEntry

from apps.jobs import database_availability, heartbeats
from apps.jobs.claims import worker_name
from registry_site.server import service_manager
from registry_site.server.pulse import Pulse

log = structlog.get_logger("larder.jobs")


class _Files:
    """Opens a shelve in dbm's portable form.

    On Debian `shelve.open` takes Berkeley DB, which reports no full disk, and writes only when it is closed: a killed
    beat had forgotten everything since its start.
    """

    @staticmethod
    def open(filename: str, *, writeback: bool) -> shelve.Shelf[Any]:
        rows: Any = dumb.open(filename, "c")  # noqa: SIM115  # the scheduler closes it
        return shelve.Shelf(rows, writeback=writeback)


class Scheduler(PersistentScheduler):
    """Rings on while its file cannot be written: otherwise a full disk ends beat, and with it the embedded worker.

    Of several beats one rings (`heartbeats.beat_has_turn`). The others keep their schedules up to date, so that one
    which takes over rings for nothing twice.
    """

    persistence: Any = _Files
    is_alone_in_its_process = True
    _store: Any  # a shelve; the stubs do not know it

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._pulse = Pulse("beat")
        self._has_reported = False
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        self._goes_round()
        if not self._has_reported:  # nothing is due for some seconds yet
            self._has_reported = not self._has_turn() or self._report()
        return float(super().tick(*args, **kwargs))

    def _goes_round(self) -> None:
        self._pulse.note()
        if self.is_alone_in_its_process:  # the watchdog of a worker speaks for both
            service_manager.tell(service_manager.STILL_WELL)

    def _ensure_connected(self) -> Any:
        """Wait for the broker, as Celery's own, which says nothing meanwhile."""
        return self.connection.ensure_connection(self._broker_is_away, callback=self._goes_round)

    def _broker_is_away(self, error: Exception, seconds: float) -> None:
        log.warning("beat_waits_for_broker", error=type(error).__name__, seconds=seconds)

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        if not self._has_turn():
            return
        super().apply_entry(entry, producer)
        if entry.name == "reap":  # the most frequent of those that nothing works without
            self._has_reported = self._report()

    def _has_turn(self) -> bool:
        """Return True as well while the database, which knows the others, is away: two beats are harmless."""
        found: list[bool] = []
        database_availability.try_once(lambda: found.append(heartbeats.beat_has_turn(worker_name())))
        return found != [False]

    def _report(self) -> bool:
        return database_availability.try_once(partial(heartbeats.ring, worker_name()))

    def close(self) -> None:
        super().close()
        database_availability.try_once(partial(heartbeats.end_beat, worker_name()))

    def sync(self) -> None:
        try:
            super().sync()
        except OSError as error:
            log.warning("beat_schedule_not_written", error=type(error).__name__)
            # shelve sets it to False while it writes: the next sync would write nothing.
            self._store.writeback = True


class InWorker(Scheduler):
    """That of a worker that runs beat in a thread."""

    is_alone_in_its_process = False
