"""Hash a large file once for the many that want it at the same moment, and send it without holding much of it.

A reader that streams an unverified blob holds two steps of it: a hundred clients of a package that was just stored
would hold 200 MB, and hash it a hundred times.
"""

import threading
from collections.abc import Collection, Iterator, Mapping
from itertools import count

from apps.blobs import store
from apps.blobs.care.verified_files import LARGE
from apps.blobs.store import File

PIECE = 128 * 1024


class BeingVerified(Exception):
    """Another thread of this process is hashing the file: `states_of` tells when that has ended."""

    def __init__(self, ticket: int) -> None:
        super().__init__("Another thread is hashing this file.")
        self.ticket = ticket


_lock = threading.Lock()
_tickets: dict[str, int] = {}  # by digest
_numbers = count(1)
BUSY = "busy"


def states_of(tickets: Collection[int]) -> Mapping[int, object]:
    """BUSY for those whose file is still being hashed; the others are missing."""
    with _lock:
        busy = set(_tickets.values())
    return {ticket: BUSY for ticket in tickets if ticket in busy}


def verify_file(digest: str, *, size: int) -> None:
    """Hash a large file of this host unless it was within the hour. Raises BeingVerified, and what `read` raises."""
    if size < LARGE or not store.is_on_this_host() or store.verified_file(digest) is not None:
        return
    with _lock:
        ticket = _tickets.get(digest)
        if ticket is not None:
            raise BeingVerified(ticket)
        _tickets[digest] = next(_numbers)
    try:
        for _ in store.read(digest):
            pass
    finally:
        with _lock:
            del _tickets[digest]


def read_part(digest: str, part: range, *, size: int) -> Iterator[bytes]:
    """Read a part like `store.read_part`; of a file that was verified in small pieces, and without another check."""
    file = store.verified_file(digest)
    return store.read_part(digest, part, size=size) if file is None else _pieces(file, part)


def _pieces(file: File, part: range) -> Iterator[bytes]:
    with file.path.open("rb", buffering=0) as opened:
        opened.seek(part.start)
        left = len(part)
        while left and (piece := opened.read(min(PIECE, left))):
            left -= len(piece)
            yield piece
