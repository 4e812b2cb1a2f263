from django import template

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
