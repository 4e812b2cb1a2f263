from collections.abc import Iterable

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString, mark_safe

from apps.lib.text.search_terms import marked

register = template.Library()


@register.filter
def with_marks(text: str, words: Iterable[str]) -> SafeString:
    """The escaped text with `<mark>` around matches."""
    pieces = (
        format_html("<mark>{}</mark>", piece) if hit else conditional_escape(piece)
        for piece, hit in marked(text, words)
    )
    return mark_safe("".join(pieces))  # noqa: S308  # each piece is escaped above


@register.filter
def grouped(number: int) -> str:
    """12,345: long numbers are read in groups."""
    return f"{number:,}"
