"""SVG badges for READMEs elsewhere: /modules/<address>/badge/version.svg and downloads.svg, and the same of providers.

Only of public namespaces, alike for everyone: a page that shows a badge sends no credentials.
"""

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from rest_framework.request import Request

from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import Visibility
from apps.http.errors import registry_dialect
from apps.http.views import MachineView, ReadyAtAddress
from apps.lib.errors import CredentialsRequired, NotFound
from apps.portal.frame.page_urls import url_of
from apps.portal.modules.frame import MODULES
from apps.portal.providers.pages import PROVIDERS
from apps.portal.versions.pages import VersionPages
from apps.releases.catalogue import marks
from apps.releases.catalogue.download_figures import downloads_of_name

MAX_AGE = 300  # seconds, as of public archives
CHARACTER, PADDING = 6.6, 6  # pixels; `textLength` makes any font fit
LABEL, VALUE = "#4a4039", "#9c4210"  # white on them has a contrast of 6:1 or more
_SVG = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{label}: {value}">
<title>{label}: {value}</title>
<clipPath id="r"><rect width="{width}" height="20" rx="4"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="{label_colour}"/>\
<rect x="{left}" width="{right}" height="20" fill="{value_colour}"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11" text-anchor="middle">
<text x="{left_middle}" y="14" textLength="{left_text}">{label}</text>
<text x="{right_middle}" y="14" textLength="{right_text}">{value}</text>
</g>
</svg>
"""


class Badge(ReadyAtAddress, MachineView):
    """A change shows when a cache asks again, after five minutes."""

    http_method_names = ["get", "head"]
    authentication_classes = []
    dialect = registry_dialect

    def get(self, request: Request, *, pages: VersionPages, badge: str, **names: str) -> HttpResponse:  # noqa: ARG002
        try:
            parent, _ = pages.parent_and_role(NOBODY, pages.address_type(**names))
        except CredentialsRequired:
            raise NotFound("Badges are available only in public namespaces.") from None
        body = svg(badge, self._value(parent, pages, badge))
        headers = {"Cache-Control": f"public, max-age={MAX_AGE}"}
        return HttpResponse(body, content_type="image/svg+xml", headers=headers)

    def _value(self, parent: Any, pages: VersionPages, badge: str) -> str:
        """Of those here, or the mark that a room makes of the latest version. Raises NotFound."""
        if badge in BADGES:
            return BADGES[badge](parent, pages)
        latest = parent.versions.listed().default_first().values_list("release", flat=True).first()
        found = {one.name: one.text for one in marks.of([latest] if latest else []).get(latest, ())}
        if badge not in found:
            known = " and ".join([*BADGES, *found])
            raise NotFound("There is no such badge.", hint=f"There are {known}.")
        return found[badge]


def svg(label: str, value: str) -> str:
    left_text, right_text = (round(len(text) * CHARACTER) for text in (label, value))
    left, right = left_text + 2 * PADDING, right_text + 2 * PADDING
    return _SVG.format(
        label=escape(label),
        value=escape(value),
        width=left + right,
        left=left,
        right=right,
        left_text=left_text,
        right_text=right_text,
        left_middle=left / 2,
        right_middle=left + right / 2,
        label_colour=LABEL,
        value_colour=VALUE,
    )


def _version(parent: Any, _pages: VersionPages) -> str:
    latest = parent.versions.listed().default_first().values_list("release__version", flat=True).first()
    return latest or "none listed"


def _downloads(parent: Any, pages: VersionPages) -> str:
    count = downloads_of_name(kind=pages.kind, namespace=parent.namespace, name=parent.address.path_name)
    return short(count)


def short(number: int) -> str:
    """999, 1.2k, 34k, 5.6M: rounded down."""
    for size, letter in ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k")):
        if number >= size:
            tenths = number * 10 // size
            return f"{tenths // 10}{letter}" if tenths >= 100 or not tenths % 10 else f"{tenths / 10}{letter}"  # noqa: PLR2004
    return str(number)


BADGES: Mapping[str, Callable[[Any, VersionPages], str]] = {"version": _version, "downloads": _downloads}


def offered(_: Viewer, parent: Any) -> dict[str, Any]:
    """Return the values of portal/feeds/follow.html, on the page of the versions of a module or provider."""
    address, is_public = parent.address, parent.namespace.visibility == Visibility.PUBLIC
    site = f"{settings.PUBLIC_URL}{url_of(address)}"
    lines = (
        f"[![{label} of {address}]({settings.PUBLIC_URL}{url_of(address, 'badge', label)})]({site})" for label in BADGES
    )
    return {"address": address, "badges": "\n".join(lines) if is_public else ""}


urlpatterns = [
    path(f"{pages.path}/badge/<str:badge>.svg", Badge.as_view(), {"pages": pages}, name=f"{pages.kind}-badge")
    for pages in (MODULES, PROVIDERS)
]
