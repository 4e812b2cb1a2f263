"""The Content-Security-Policy of a page that needs another one than all the others."""

from collections.abc import Mapping, Sequence

from django.conf import settings
from django.http import HttpResponse

from apps.blobs import store


def rendered(policy: Mapping[str, Sequence[str]]) -> str:
    return "; ".join(" ".join([directive, *sources]) for directive, sources in policy.items())


def usual() -> Mapping[str, Sequence[str]]:
    """The policy of all pages: scripts also send bytes to storage where it takes them."""
    if not (origin := store.upload_origin()):
        return settings.SECURE_CSP
    return settings.SECURE_CSP | {"connect-src": [*settings.SECURE_CSP["connect-src"], origin]}


def let_forms_lead_to(response: HttpResponse, *origins: str) -> HttpResponse:
    """Chromium asks `form-action` about the redirects after a form as well."""
    policy = settings.SECURE_CSP | {"form-action": [*settings.SECURE_CSP["form-action"], *origins]}
    response.headers["Content-Security-Policy"] = rendered(policy)
    return response
