"""Byte sizes in sentences about limits."""

import math

MIB = 1024 * 1024


def limit_text(size: int) -> str:
    """100 MiB: the limit as set, without rounding."""
    return f"{size // MIB:,} MiB" if size and size % MIB == 0 else f"{size:,} bytes"


def amount_text(size: int) -> str:
    """100.1 MiB: rounded up, so that a size over the limit reads larger than it."""
    return f"{size:,} bytes" if size < MIB else f"{math.ceil(size / MIB * 10) / 10:,.1f} MiB"
