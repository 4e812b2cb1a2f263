"""When a worker or beat last went round its loop: the time of a file in its data folder, for a probe outside.

It tells of the process alone. The heartbeats in the database tell whether it can work, and stop with the broker: a
probe on those would restart every worker for an outage that no restart ends. Without Django's settings, as
healthcheck.py.
"""

import os
import time
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Literal

from registry_site import env

Process = Literal["worker", "beat"]

# A loop goes round every few seconds, and while the broker is away once a second.
MAX_AGE = timedelta(seconds=60)


def file_of(process: Process) -> Path:
    """Return the file. Workers of other queues, which may share the folder, have others."""
    queues = env.some_of("LARDER_WORKER_QUEUES", "check", "sign", "notify", "upstream") if process == "worker" else []
    return env.folder("LARDER_DATA_DIR", env.CHECKOUT / "var") / "pulse" / "-".join([process, *sorted(queues)])


class Pulse:
    def __init__(self, process: Process) -> None:
        self._file = file_of(process)
        self._pid = 0

    def note(self) -> None:
        """A full or read-only disk stops no work."""
        with suppress(OSError):
            self._file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file.touch(mode=0o600)
            if self._pid != os.getpid():
                self._file.write_text(str(os.getpid()))
                self._pid = os.getpid()


def age(process: Process) -> float | None:
    """Return the seconds since it last went round; None if it never did."""
    try:
        return time.time() - file_of(process).stat().st_mtime
    except OSError:
        return None


def is_recent(process: Process) -> bool:
    found = age(process)
    return found is not None and found < MAX_AGE.total_seconds()


def pid_of(process: Process) -> int | None:
    """Return the process that noted its first round last."""
    try:
        return int(file_of(process).read_text())
    except (OSError, ValueError):
        return None
