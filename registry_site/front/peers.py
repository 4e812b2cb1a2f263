"""Telling the other web processes of a database that something has changed."""

import mmap
import os
from pathlib import Path

from django.db.backends.base.base import BaseDatabaseWrapper

WORD_BYTES = 8


class Peers:
    """The processes that repeat answers from the same SQLite database, and a word that they share: telling the others
    of a change ends their leases at once.

    A file beside the database holds the word. Each process remembers how it was before its last question, and asks
    again as soon as it differs. No process counts the others, and one that joins after a change asks after it as well.

    SQLite keeps all its processes on one machine, by memory that they share in the same way. The clients of PostgreSQL
    may be anywhere, so there every change waits.
    """

    def __init__(self, file: Path | None) -> None:
        """`file` is None if the others cannot be told. Raises OSError."""
        self._descriptor: int | None = None
        self.word: memoryview | tuple[int] = (0,)
        if file is not None:
            descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                if os.fstat(descriptor).st_size < WORD_BYTES:
                    _write_word(descriptor)
                self.word = memoryview(mmap.mmap(descriptor, WORD_BYTES, prot=mmap.PROT_READ)).cast("Q")
            except BaseException:
                os.close(descriptor)
                raise
            self._descriptor = descriptor

    @property
    def can_be_told(self) -> bool:
        return self._descriptor is not None

    def tell(self) -> bool:
        """Tell them of a change that is committed; False if that is impossible."""
        if self._descriptor is None:
            return False
        try:
            _write_word(self._descriptor)
        except OSError:
            return False
        return True


def _write_word(descriptor: int) -> None:
    """A random word: another process may write one at the same time. Raises OSError.

    It goes through the file, where a full disk is an error; written to the shared memory, it would kill the process.
    """
    os.pwrite(descriptor, os.urandom(WORD_BYTES), 0)


def peers_at(connection: BaseDatabaseWrapper) -> Peers:
    """Join the processes of this database. Raises OSError."""
    if connection.vendor != "sqlite" or connection.is_in_memory_db():  # type: ignore[attr-defined]  # SQLite's alone
        return Peers(None)
    return Peers(Path(f"{os.path.realpath(connection.settings_dict['NAME'])}-front"))
