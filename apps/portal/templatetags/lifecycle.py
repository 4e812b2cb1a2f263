"""What stands in the place of a version that is not to be used any more."""

from django import template
from django.urls import reverse
from django.utils.html import conditional_escape, format_html
from django.utils.safestring import SafeString

from apps.lib import versions
from apps.lib.addresses import ModuleAddress
from apps.lib.errors import Invalid

register = template.Library()


@register.simple_tag
def replacement(text: str, address: ModuleAddress) -> SafeString:
    """The replacement that somebody named, as a link where it is a version, a module, or a version of a module."""
    url = _url_of(text, address)
    return format_html('<a class="mono" href="{}">{}</a>', url, text) if url else conditional_escape(text)


def _url_of(text: str, address: ModuleAddress) -> str:
    place, _, version = text.replace("@", " ", 1).strip().partition(" ")
    try:
        if "/" not in place:
            place, version = str(address), text.strip()
        named = ModuleAddress.parse(place)
        where = [named.namespace, named.name, named.system]
        if not version:
            return reverse("portal:module", args=where)
        return reverse("portal:module-version", args=[*where, versions.parse(version.strip()).text])
    except Invalid:
        return ""  # words
