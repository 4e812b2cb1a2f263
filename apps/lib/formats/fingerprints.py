"""sha256 and sha512 of streamed bytes, for content that may be requested by either."""

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain


@dataclass(frozen=True, slots=True)
class Fingerprint:
    sha256: str
    sha512: str  # empty if it was not asked for and the content came in several chunks
    size: int  # bytes


class Fingerprints:
    """`over` yields chunks on; `taken` has the size and digests once it has ended.

    sha512 takes longer than all the rest of an upload, so content of several chunks has it only if `with_sha512`. From
    the second chunk on, each digest runs in a thread beside the caller: hashing releases the GIL. At most one chunk
    waits for it.
    """

    def __init__(self, *, with_sha512: bool) -> None:
        self._size = 0
        self._with_sha512 = with_sha512
        self._is_one_chunk = True
        self._sha256 = hashlib.sha256()
        self._sha512 = hashlib.sha512()

    @property
    def taken(self) -> Fingerprint:
        has_both = self._with_sha512 or self._is_one_chunk
        return Fingerprint(self._sha256.hexdigest(), self._sha512.hexdigest() if has_both else "", self._size)

    def over(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        rest = iter(chunks)
        for chunk in rest:
            self._size += len(chunk)
            self._sha256.update(chunk)
            self._sha512.update(chunk)
            yield chunk
            break
        second = next(rest, None)
        if second is None:
            return
        self._is_one_chunk = False
        tallies = [self._sha256, self._sha512] if self._with_sha512 else [self._sha256]
        with ThreadPoolExecutor(len(tallies), thread_name_prefix="hashing") as beside:
            hashing: list[Future[None]] = []
            for chunk in chain([second], rest):
                for one in hashing:
                    one.result()
                hashing = [beside.submit(tally.update, chunk) for tally in tallies]
                self._size += len(chunk)
                yield chunk
