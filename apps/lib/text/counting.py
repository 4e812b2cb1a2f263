"""Numbers in sentences."""


def many(count: int, noun: str) -> str:
    """Return the number with its noun: `1 byte`, `2,000 bytes`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
