"""The docs of a provider version: its pages beside their list."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.models import Role
from apps.lib.errors import NotFound
from apps.portal.frame.page_urls import url_of
from apps.portal.providers.pages import PROVIDERS
from apps.portal.versions import docs
from apps.providers.docs import browsing
from apps.providers.models import ProviderVersion
from apps.releases.docs.layouts import INDEX


@login_not_required
@require_safe
def provider_docs(
    request: HttpRequest, *, version: str, kind: str = "", slug: str = INDEX, **names: str
) -> HttpResponse:
    """A page of the docs; without `kind` the overview, or an empty state that explains how to add docs."""
    docs.require_own_address(kind)
    opened = PROVIDERS.open(request, version, names)
    context = _contents(request, opened.shown, kind, slug)
    having = browsing.versions_with(opened.shown, context.get("page"))

    def url_in(number: str) -> str:
        address = opened.shown.provider.address
        if kind and number in having:
            return url_of(address, "docs-page", number, kind, slug)
        return url_of(address, "docs", number)

    context["may_publish"] = opened.role not in (None, Role.READER)
    return render(request, "portal/provider/docs.html", PROVIDERS.frame(opened, "docs", url_in) | context)


def _contents(request: HttpRequest, shown: ProviderVersion, kind: str, slug: str) -> dict[str, Any]:
    if shown.release.quarantined_at is None:  # quarantined versions give out nothing
        url = url_of(shown.provider.address, "docs", shown.release.version)
        return docs.contents(request, shown.docs_pages.all(), url, kind, slug)
    if kind:
        raise NotFound(f"{shown.release} is in quarantine.")
    return {}


_DOCS = f"{PROVIDERS.path}/<str:version>/docs"

urlpatterns = [
    path(_DOCS, provider_docs, name="provider-docs"),
    path(f"{_DOCS}/<str:kind>/<str:slug>", provider_docs, name="provider-docs-page"),
]
