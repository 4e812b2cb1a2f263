"""One daemon thread per process that does a small piece of work again and again."""

import logging
import threading
import time
from collections.abc import Callable
from datetime import timedelta

log = logging.getLogger(__name__)


class Periodic:
    """Calls `work`, then `rest`, every `every`. What `work` raises is logged; `rest` gives back connections."""

    def __init__(self, name: str, work: Callable[[], object], *, every: timedelta, rest: Callable[[], None]) -> None:
        self.name = name
        self._work, self._every, self._rest = work, every, rest
        self._lock = threading.Lock()
        self._is_started = False

    def start(self) -> bool:
        """Start the thread; False if it was started before. Web processes call this, commands and tests do not."""
        with self._lock:
            if self._is_started:
                return False
            self._is_started = True
        threading.Thread(target=self._run, name=self.name, daemon=True).start()
        return True

    def _run(self) -> None:
        while True:
            try:
                self._work()
            except Exception:
                log.exception("periodic_failed", extra={"work": self.name})
            self._rest()
            time.sleep(self._every.total_seconds())
