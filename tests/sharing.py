"""A folder that the processes of one test run share, and turns to make what the others wait for."""

import atexit
import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import IO
from zlib import crc32

from tests.programs import CHECKOUT

if "LARDER_TEST_RUN" not in os.environ:  # this process is the first: the workers of xdist inherit the name
    os.environ["LARDER_TEST_RUN"] = tempfile.mkdtemp(prefix="larder-test-run-")
    atexit.register(shutil.rmtree, os.environ["LARDER_TEST_RUN"], ignore_errors=True)
# A run within a run, of a copy of the checkout, has its own.
FOLDER = Path(os.environ["LARDER_TEST_RUN"], f"{crc32(bytes(CHECKOUT)):08x}")
FOLDER.mkdir(mode=0o700, parents=True, exist_ok=True)


def _state_of_the_migrations() -> str:
    digest = hashlib.sha256((CHECKOUT / "requirements.txt").read_bytes())
    for path in sorted(CHECKOUT.glob("apps/**/migrations/*.py")):
        digest.update(f"{path.relative_to(CHECKOUT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:20]


# A database as `migrate` leaves it, of SQLite and of PostgreSQL (tests/dumps.py); later runs find them.
COPY = CHECKOUT / ".pytest_cache" / "larder-databases" / f"{_state_of_the_migrations()}.sqlite3"
DUMP = COPY.with_suffix(".sql")


class Turn:
    """One process at a time has it; it ends with the process too."""

    def __init__(self, name: str) -> None:
        self._path = FOLDER / f"{name}.lock"
        self._file: IO[str] | None = None

    @property
    def is_taken(self) -> bool:
        """Return whether this process has it."""
        return self._file is not None

    def take(self) -> None:
        """Wait while another process has it."""
        file = self._path.open("a")
        fcntl.flock(file, fcntl.LOCK_EX)
        self._file = file

    def end(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
