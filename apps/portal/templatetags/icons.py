"""`{% icon "copy" %}`: a lucide icon as inline SVG, which takes the text's colour and costs no request."""

import re
from functools import cache, lru_cache

from django import template
from django.conf import settings
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

SIZES = {"": "icon", "large": "icon icon--large", "spin": "icon icon--spin"}


@register.simple_tag
@lru_cache(maxsize=500, typed=True)  # a page has two dozen; typed, for a label that is HTML equals one that is text
def icon(name: str, *, label: str = "", size: str = "") -> SafeString:
    """The icon `name` of static/vendor/lucide. Hidden from screen readers unless it has a `label`."""
    speech = format_html('role="img" aria-label="{}"', label) if label else mark_safe('aria-hidden="true"')
    return format_html(
        '<svg class="{}" viewBox="0 0 24 24" focusable="false" {}>{}</svg>', SIZES[size], speech, _drawing(name)
    )


@cache
def _drawing(name: str) -> SafeString:
    """The contents of the file's <svg> element. A missing file is a defect, which fails the page's test."""
    text = (settings.BASE_DIR / "static" / "vendor" / "lucide" / f"{name}.svg").read_text()
    inside = re.search(r"<svg[^>]*>(.*)</svg>", text, re.DOTALL)
    if inside is None:
        raise ValueError(f"static/vendor/lucide/{name}.svg is not an SVG file")
    return mark_safe(" ".join(inside[1].split()))  # noqa: S308  # vendored, its sum is tested
