"""Notices on versions that should no longer be used, with links to their replacements."""

from django import template
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from apps.lib import versions
from apps.lib.errors import Invalid
from apps.portal.frame import page_urls
from apps.portal.frame.page_urls import Address

register = template.Library()

register.simple_tag(page_urls.url_of, name="place")
register.filter("kind", page_urls.kind_of)


@register.simple_tag
def replacement(text: str, address: Address) -> SafeString:
    """The named replacement, as a link if it is a version, or another address with or without one."""
    place, _, version = text.replace("@", " ", 1).strip().partition(" ")
    if "/" not in place:
        place, version = str(address), text.strip()
    try:
        named = type(address).parse(place)
        where = ("version", versions.parse(version.strip()).text) if version else ()
        url = page_urls.url_of(named, *where)
    except Invalid:
        url = ""  # free text
    return format_html('<a class="mono" href="{}">{}</a>', url, text) if url else conditional_escape(text)
