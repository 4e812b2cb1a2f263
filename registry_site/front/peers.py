"""Other processes that repeat answers from the same SQLite database: without any, a change need not wait.

Each process holds a shared POSIX lock on a file beside the database, from before its first question for the generation
until it ends; the kernel releases it. A process that joins after a change asks for the generation later than that.

SQLite keeps all its processes on one machine, by locks of the same kind. The clients of PostgreSQL may be anywhere, and
a lost connection would free a lock while its process still answers, so there every change waits.
"""

import fcntl
import os
from pathlib import Path

from django.db.backends.base.base import BaseDatabaseWrapper


class Peers:
    def __init__(self, file: Path | None) -> None:
        """Show this process to the others. `file` is None if they cannot be known. Raises OSError."""
        self._pid = os.getpid()  # a fork does not inherit the lock
        self._descriptor: int | None = None
        if file is not None:
            # Never closed: a process that closes any descriptor of a file gives up its locks on it.
            self._descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.lockf(self._descriptor, fcntl.LOCK_SH)

    def are_none(self) -> bool:
        """Tell whether no other process may repeat what was before now. False if that is unknown."""
        if self._descriptor is None or self._pid != os.getpid():
            return False
        try:
            # If another process shares the lock, this fails and leaves this process its share.
            fcntl.lockf(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        fcntl.lockf(self._descriptor, fcntl.LOCK_SH)
        return True


def peers_at(connection: BaseDatabaseWrapper) -> Peers:
    """Join the processes of this database. Raises OSError."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's alone
        return Peers(None)
    return Peers(Path(f"{os.path.realpath(connection.settings_dict['NAME'])}-front"))
