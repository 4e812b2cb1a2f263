"""What one archive may cost: each limit with the setting that an operator would raise."""

from dataclasses import dataclass

from apps.lib.amounts import limit_text

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Sizes in bytes, times in seconds. A `*_setting` is the variable named in a refusal; empty: the limit is fixed."""

    packed_bytes: int = 100 * _MIB
    packed_setting: str = "LARDER_MODULE_ARCHIVE_MAX_BYTES"
    unpacked_bytes: int = 512 * _MIB
    unpacked_setting: str = "LARDER_MODULE_UNPACKED_MAX_BYTES"
    file_bytes: int = 512 * _MIB
    file_setting: str = ""
    entries: int = 65_000
    entries_setting: str = "LARDER_ARCHIVE_MAX_ENTRIES"
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


def at_most(limit: int, unit: str, setting: str = "") -> str:
    """`at most 100 MiB (LARDER_X)`: how refusals name a limit."""
    amount = limit_text(limit) + unit.removeprefix("bytes") if unit.startswith("bytes") else f"{limit} {unit}"
    return f"at most {amount}" + (f" ({setting})" if setting else "")
