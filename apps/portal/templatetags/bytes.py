from django import template

from apps.lib.amounts import limit_text

register = template.Library()

UNITS = (("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
TEN = 10


@register.filter
def bytes_text(size: int | None) -> str:
    """12 bytes, 3.4 kB, 128 MB: powers of 1000, as browsers count downloads."""
    if size is None:
        return "unknown size"
    for unit, worth in UNITS:
        if size >= worth:
            amount = size / worth
            return f"{amount:.1f} {unit}" if amount < TEN else f"{amount:.0f} {unit}"
    return f"{size} byte{'' if size == 1 else 's'}"


register.filter(limit_text)
