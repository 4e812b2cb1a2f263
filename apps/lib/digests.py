"""SHA-256 of streamed bytes, with limits on their number."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Self

from apps.lib.amounts import limit_text
from apps.lib.errors import Invalid, TooLarge

_HEX = frozenset("0123456789abcdef")
_LENGTH = 64


def is_sha256(text: str) -> bool:
    """64 lower-case hexadecimal digits, the only stored spelling of a digest."""
    return len(text) == _LENGTH and _HEX.issuperset(text)


class DigestMismatch(Invalid):
    """The bytes are not those that their sender announced."""

    code = "digest_mismatch"

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(
            f"The bytes have the digest sha256:{found}, expected sha256:{expected} as announced.",
            hint="Send the file again; if it differs again, compute its digest again.",
        )


class Tally:
    """Counts and hashes chunks. `size` is in bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()

    def update(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._hash.update(chunk)

    def over(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            self.update(chunk)
            yield chunk

    @classmethod
    def of(cls, chunks: Iterable[bytes]) -> Self:
        """Read all of them."""
        tally = cls()
        for chunk in chunks:
            tally.update(chunk)
        return tally

    @property
    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def counted(chunks: Iterable[bytes], *, limit: int, what: str, setting: str = "") -> Iterator[bytes]:
    """Yield chunks up to `limit` bytes; raise TooLarge instead of the chunk that exceeds it.

    For the error, `what` names the thing ("the module archive") and `setting` the variable that an operator may raise.
    """
    seen = 0
    for chunk in chunks:
        seen += len(chunk)
        check_size(seen, limit=limit, what=what, setting=setting)
        yield chunk


def verified(chunks: Iterable[bytes], expected: str) -> Iterator[bytes]:
    """Yield the chunks; raise DigestMismatch after the last one unless they have this sha256. "" expects nothing."""
    tally = Tally()
    yield from tally.over(chunks) if expected else chunks
    if expected and tally.hexdigest != expected:
        raise DigestMismatch(tally.hexdigest, expected)


def check_size(size: int, *, limit: int, what: str, setting: str = "") -> None:
    """Raises TooLarge as `counted` does."""
    if size > limit:
        by = f" (limit {setting})" if setting else ""
        raise TooLarge(
            f"{what} is larger than {limit_text(limit)}{by}",
            hint=f"Send a smaller file{', or ask an operator to raise the limit' if setting else ''}.",
        )
