"""What a confined child may cost."""

from dataclasses import dataclass

_MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds of work and bytes of address space; `document_bytes` is the longest answer that is read."""

    seconds: int = 30
    memory_bytes: int = 512 * _MIB
    document_bytes: int = 64 * _MIB
