"""SHA-256 of bytes on their way through, and the limits on how many may come."""

import hashlib
from collections.abc import Iterable, Iterator

from apps.lib.amounts import limit_text
from apps.lib.errors import TooLarge

_HEX = frozenset("0123456789abcdef")
_LENGTH = 64


def is_sha256(text: str) -> bool:
    """Whether the text is 64 lower-case hexadecimal digits, the only spelling of a digest that is stored."""
    return len(text) == _LENGTH and _HEX.issuperset(text)


class Tally:
    """Counts and hashes what passes. `size` is in bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._hash = hashlib.sha256()

    def update(self, chunk: bytes) -> None:
        self.size += len(chunk)
        self._hash.update(chunk)

    @property
    def hexdigest(self) -> str:
        return self._hash.hexdigest()


def counted(chunks: Iterable[bytes], *, limit: int, what: str, setting: str = "") -> Iterator[bytes]:
    """Passes chunks on until more than `limit` bytes came; then raises TooLarge, which names the limit.

    `what` is the thing's name in the sentence ("the module archive"), `setting` the variable an operator may raise.
    The chunk that crosses the limit is not passed on.
    """
    seen = 0
    for chunk in chunks:
        seen += len(chunk)
        check_size(seen, limit=limit, what=what, setting=setting)
        yield chunk


def check_size(size: int, *, limit: int, what: str, setting: str = "") -> None:
    """Raises TooLarge as `counted` does."""
    if size > limit:
        by = f" (limit {setting})" if setting else ""
        raise TooLarge(f"{what} is larger than {limit_text(limit)}{by}", mend="Send less, or ask an operator for more.")
