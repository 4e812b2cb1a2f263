"""The costs that one archive may cause: each limit with the setting that an operator would raise."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from apps.lib.amounts import amount_text, limit_text
from apps.lib.archives.rules.outcome import refuse

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds. A `*_setting` is the variable named in a refusal; empty: the limit is fixed.

    Each `check_*` raises Refusal for a number above its limit.
    """

    packed_bytes: int = 100 * _MIB
    packed_setting: str = "module_archive_max_bytes of LARDER_LIMITS"
    unpacked_bytes: int = 512 * _MIB
    unpacked_setting: str = "module_unpacked_max_bytes of LARDER_LIMITS"
    file_bytes: int = 512 * _MIB
    file_setting: str = ""
    entries: int = 65_000
    entries_setting: str = "archive_max_entries of LARDER_LIMITS"
    directory_bytes: int = 16 * _MIB
    name_bytes: int = 1024
    depth: int = 32
    ratio: int = 50
    ratio_from: int = 64 * _MIB
    text_bytes: int = _MIB
    texts_bytes: int = 8 * _MIB
    seconds: int = 30
    repack_seconds: int = 120  # of the processor: packing costs several times what reading does
    memory_bytes: int = 512 * _MIB

    def check_packed(self, size: int) -> None:
        if size > self.packed_bytes:
            expected = at_most(self.packed_bytes, "bytes", self.packed_setting)
            raise refuse("too_large", f"an archive of {amount_text(size)}", expected, "Leave files out.")

    def check_entries(self, count: int, more: str = "") -> None:
        if count > self.entries:
            expected = at_most(self.entries, "entries", self.entries_setting)
            raise refuse("too_many_entries", f"{count} entries{more}", expected, "Leave files out.")

    def check_directory(self, size: int, what: str) -> None:
        if size > self.directory_bytes:
            expected = at_most(self.directory_bytes, "bytes")
            raise refuse("too_large_directory", f"{what} of {size} bytes", expected, "Use shorter names.")

    def check_file(self, name: str, size: int) -> None:
        if size > self.file_bytes:
            expected = at_most(self.file_bytes, "bytes", self.file_setting)
            raise refuse("too_large_file", f"{amount_text(size)} unpacked", expected, "Leave it out.", name)

    def check_unpacked(self, total: int, more: str = "") -> None:
        if total > self.unpacked_bytes:
            expected = at_most(self.unpacked_bytes, "bytes", self.unpacked_setting)
            found = f"{amount_text(total)} unpacked{more}"
            raise refuse("too_large_unpacked", found, expected, "Leave files out.")

    def check_ratio(self, total: int, packed: int) -> None:
        if total > self.ratio_from and total > self.ratio * packed:
            found = f"{amount_text(total)} unpacked from {amount_text(packed)}"
            raise refuse("ratio", found, f"at most {self.ratio} times the packed size", "Leave the padding out.")


def at_most(limit: int, unit: str, setting: str = "") -> str:
    """`at most 100 MiB (LARDER_X)`: how refusals name a limit."""
    amount = limit_text(limit) + unit.removeprefix("bytes") if unit.startswith("bytes") else f"{limit} {unit}"
    return f"at most {amount}" + (f" ({setting})" if setting else "")


class Clock:
    """The time that one archive may take: `check` raises Refusal once it is used up."""

    def __init__(self, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._now = now
        self._end = now() + seconds

    def check(self) -> None:
        if self._now() > self._end:
            found = f"a check of more than {self._seconds:g} seconds"
            raise refuse("too_slow", found, "an archive that can be checked faster", "Pack fewer or smaller files.")
