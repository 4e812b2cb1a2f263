"""Numbers, sizes and fingerprints for people: `{{ 1234567|grouped }}`, `{{ key.fingerprint|in_fours }}`."""

from django import template

from apps.lib.amounts import limit_text

register = template.Library()


@register.filter
def grouped(number: int) -> str:
    """1,234,567."""
    return f"{number:,}"


@register.filter
def share_of(part: int, whole: int) -> str:
    """`part` of `whole` in percent: 12 %, or < 1 % for little."""
    if not whole or not part:
        return "0 %"
    percent = part / whole * 100
    return "< 1 %" if percent < 1 else f"{percent:.0f} %"


UNITS = (("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3))
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


@register.filter
def in_fours(fingerprint: str) -> str:
    """Groups of four digits, a wider gap in the middle: 0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567."""
    groups = [fingerprint[start : start + 4] for start in range(0, len(fingerprint), 4)]
    middle = len(groups) // 2
    return f"{' '.join(groups[:middle])}  {' '.join(groups[middle:])}".strip()
