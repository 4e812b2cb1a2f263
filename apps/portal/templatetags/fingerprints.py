"""`{{ key.fingerprint|in_fours }}`, as gpg prints it."""

from django import template

register = template.Library()


@register.filter
def in_fours(fingerprint: str) -> str:
    """Groups of four digits, a wider gap in the middle: 0123 4567 89AB CDEF 0123  4567 89AB CDEF 0123 4567."""
    groups = [fingerprint[start : start + 4] for start in range(0, len(fingerprint), 4)]
    middle = len(groups) // 2
    return f"{' '.join(groups[:middle])}  {' '.join(groups[middle:])}".strip()
