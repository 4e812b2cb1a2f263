"""sha256 and sha512 of bytes on their way through, for those that may be asked for by either."""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Fingerprint:
    sha256: str
    sha512: str
    size: int  # bytes


class Fingerprints:
    """`over` passes chunks on; what is counted and hashed by then is in `taken`.

    From the second chunk on sha512, the slower one, runs in a thread beside its reader: hashing lets go of the
    interpreter's lock. At most one chunk waits there.
    """

    def __init__(self) -> None:
        self._size = 0
        self._sha256 = hashlib.sha256()
        self._sha512 = hashlib.sha512()

    @property
    def taken(self) -> Fingerprint:
        return Fingerprint(self._sha256.hexdigest(), self._sha512.hexdigest(), self._size)

    def over(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        rest = iter(chunks)
        for chunk in rest:
            self._count(chunk)
            self._sha512.update(chunk)
            yield chunk
            break
        second = next(rest, None)
        if second is None:
            return
        with ThreadPoolExecutor(1, thread_name_prefix="sha512") as beside:
            hashing: Future[None] = beside.submit(self._sha512.update, second)
            self._count(second)
            yield second
            for chunk in rest:
                hashing.result()
                hashing = beside.submit(self._sha512.update, chunk)
                self._count(chunk)
                yield chunk

    def _count(self, chunk: bytes) -> None:
        self._size += len(chunk)
        self._sha256.update(chunk)
