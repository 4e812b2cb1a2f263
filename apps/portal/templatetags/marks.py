"""`{% mark address %}`, `{% jar namespace %}`, `{% initials people %}`: tiles that make lists scannable.

Each repeats the text beside it, so screen readers skip it. A system that static/img/marks.svg draws has its drawing and
colour everywhere; every other name has its first letter, in a colour that follows from the name.
"""

from collections.abc import Iterable
from functools import lru_cache
from zlib import crc32

from django import template
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from apps.lib.addresses import ModuleAddress
from apps.portal.frame.page_urls import Address

register = template.Library()

# A system -> its drawing in static/img/marks.svg, and the colour of its tile in static/css/tokens.css.
DRAWN = {
    "aws": ("aws", 1),
    "azurerm": ("azurerm", 2),
    "azuread": ("azurerm", 2),
    "azapi": ("azurerm", 2),
    "google": ("google", 3),
    "google-beta": ("google", 3),
    "kubernetes": ("kubernetes", 2),
    "helm": ("helm", 5),
    "github": ("github", 6),
    "null": ("null", 6),
    "random": ("random", 4),
    "oci": ("oci", 1),
}
HUES = 5  # of letters; the sixth is for what has no character
SIZES = {"": "", "small": " mark--small", "large": " mark--large"}


@register.simple_tag
def mark(of: Address | str, *, size: str = "") -> SafeString:
    """The tile of a module's system or of a provider's type."""
    if isinstance(of, str):
        return _tile(of, size)
    return _tile(of.system if isinstance(of, ModuleAddress) else of.type, size)


@lru_cache(maxsize=1024)
def _tile(system: str, size: str) -> SafeString:
    if system.lower() not in DRAWN:
        return _letter(system, f"mark{SIZES[size]}")
    drawing, hue = DRAWN[system.lower()]
    return format_html(
        '<span class="mark{} hue-{}" aria-hidden="true"><svg><use href="{}#{}"></use></svg></span>',
        SIZES[size],
        hue,
        static("img/marks.svg"),
        drawing,
    )


@register.simple_tag
def jar(namespace: object, *, size: str = "") -> SafeString:
    """The tile of a namespace, which has a lid."""
    return _letter(str(namespace), f"mark mark--jar{SIZES[size]}")


@register.simple_tag
def initials(*people: str | Iterable[str]) -> SafeString:
    """The round tiles of people and teams, by their names. Owners are listed as `the team cooks`."""
    names = [name for one in people for name in ([one] if isinstance(one, str) else one)]
    tiles = ((_letter(name.removeprefix("the team "), "initial"),) for name in names)
    return format_html('<span class="initials">{}</span>', format_html_join("", "{}", tiles))


def _letter(name: str, classes: str) -> SafeString:
    first = next((one for one in name if one.isalnum()), "?").upper()
    hue = crc32(name.casefold().encode()) % HUES + 1
    return format_html('<span class="{} hue-{}" aria-hidden="true">{}</span>', classes, hue, first)
