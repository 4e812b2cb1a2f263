"""The name and the logo of this installation, and the address of the logo: /site/logo-<digest>.svg."""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.templatetags.static import static
from django.urls import path, reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import require_safe

from apps.lib.errors import Invalid, NotFound
from apps.lib.formats import logos
from apps.lib.formats.logos import Logo

DAYS = 365  # a changed logo has another address
# An SVG that is opened as a page: it has no script, and could not run one.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox"


@dataclass(frozen=True, slots=True)
class SiteLogo:
    """The logo of pages: its URL and media type."""

    url: str
    content_type: str


def site_logo() -> SiteLogo:
    """Return the operator's logo, or Larder's own; also if the file cannot be used, of which the checks tell."""
    own = _chosen(settings.SITE_LOGO)
    if own is None:
        return SiteLogo(static("img/logo.svg"), "image/svg+xml")
    return SiteLogo(reverse("portal:site-logo", args=[_name(own)]), own.content_type)


def chosen_logo(file: str) -> Logo | None:
    """Read the file of LARDER_SITE_LOGO; None if it is unset. Raises Invalid."""
    if not file:
        return None
    try:
        with Path(file).open("rb") as opened:
            body = opened.read(logos.MAX_BYTES + 1)
    except OSError as error:
        raise Invalid(f"the file cannot be read: {error}") from None
    return logos.read(body)


@cache
def _chosen(file: str) -> Logo | None:
    """Once for each process: a changed file needs a restart, like every setting."""
    try:
        return chosen_logo(file)
    except Invalid:
        return None


@cache
def _name(logo: Logo) -> str:
    """Asked for by each page."""
    return f"{hashlib.sha256(logo.body).hexdigest()[:16]}.{logo.suffix}"


@login_not_required
@require_safe
@cache_control(public=True, max_age=DAYS * 24 * 60 * 60, immutable=True)
def logo(_request: HttpRequest, name: str) -> HttpResponse:
    own = _chosen(settings.SITE_LOGO)
    if own is None or name != _name(own):
        raise NotFound("There is no such logo.")
    return HttpResponse(own.body, content_type=own.content_type, headers={"Content-Security-Policy": POLICY})


urlpatterns = [path("site/logo-<str:name>", logo, name="site-logo")]
