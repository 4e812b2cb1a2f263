"""Numbers of bytes in sentences about limits."""

import math

MIB = 1024 * 1024


def limit_text(size: int) -> str:
    """100 MiB: a limit as it was set, without rounding."""
    return f"{size // MIB:,} MiB" if size and size % MIB == 0 else f"{size:,} bytes"


def amount_text(size: int) -> str:
    """100.1 MiB: rounded up, so that what breaks a limit reads larger than the limit."""
    return f"{size:,} bytes" if size < MIB else f"{math.ceil(size / MIB * 10) / 10:,.1f} MiB"
