"""/providers: the providers that a reader may see. For one provider's pages see pages.py."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.access import gate, throttling
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.identity.sign_ins import address_of
from apps.accounts.models import Namespace
from apps.portal.frame.paging import page_of
from apps.portal.frame.rows import rows_of
from apps.portal.providers import docs as provider_docs
from apps.portal.providers import pages
from apps.releases.catalogue import search
from apps.releases.models import Kind

PAGE = 30
# Providers on a namespace's page, which links to the rest.
SHOWN = 30


@login_not_required
@require_safe
def providers(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    query = request.GET.get("q", "").replace("\0", "").strip()[:200]
    if query:
        throttling.count(throttling.by_account("search", viewer.user_id, address_of(request)))
    docs = search.search(kind=Kind.PROVIDER, namespaces=gate.visible_namespaces(viewer), query=query)
    page = page_of(docs.select_related("namespace"), request, size=PAGE)
    context: dict[str, Any] = {"page": page, "rows": rows_of(page.object_list, query), "query": query}
    return render(request, "portal/providers/list.html", context)


def in_namespace(namespace: Namespace, *, include_unlisted: bool) -> dict[str, Any]:
    """The first of its providers, `provider_rows`, and their number, `provider_count`."""
    only_this = Namespace.objects.filter(pk=namespace.pk)
    docs = search.search(kind=Kind.PROVIDER, namespaces=only_this, include_unlisted=include_unlisted)
    rows = rows_of(docs.select_related("namespace")[:SHOWN])
    return {"provider_rows": rows, "provider_count": docs.count() if len(rows) == SHOWN else len(rows)}


urlpatterns = [path("providers", providers, name="providers"), *pages.urlpatterns, *provider_docs.urlpatterns]
