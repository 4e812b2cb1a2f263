"""Where Celery's beat writes when it last rang for what, so that a restart postpones nothing that is due once a day."""

from typing import Any

import structlog
from celery.beat import PersistentScheduler

log = structlog.get_logger("larder.jobs")


class Scheduler(PersistentScheduler):
    """Rings on while its file cannot be written: otherwise a full disk ends beat, and with it the embedded worker."""

    _store: Any  # a shelve; the stubs do not know it

    def sync(self) -> None:
        try:
            super().sync()
        except OSError as error:
            log.warning("beat_schedule_not_written", error=type(error).__name__)
            # shelve sets it to False while it writes: the next sync would write nothing.
            self._store.writeback = True
