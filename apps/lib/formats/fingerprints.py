"""sha256 and sha512 of streamed bytes, for content that may be requested by either."""

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
    """`over` yields chunks on; `taken` has the size and digests of those so far.

    From the second chunk on, sha512, the slower one, runs in a thread: hashing releases the GIL. At most one chunk
    waits for it.
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
