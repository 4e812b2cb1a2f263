"""The docs of a provider version: its pages beside their list, and for publishers the uploaded archives."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Role
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import NotFound, RegistryError
from apps.lib.net import bodies
from apps.portal.frame.form_files import STATUS, check_origin, file_of
from apps.portal.frame.forms import sentence
from apps.portal.frame.page_urls import url_of
from apps.portal.providers.frame import PROVIDERS
from apps.providers.docs import browsing, replacing
from apps.providers.docs.layouts import INDEX
from apps.providers.drafting import drafts
from apps.providers.models import DocsKind, ProviderVersion

OPEN_UP_TO = 60


@login_not_required
@require_safe
def provider_docs(
    request: HttpRequest, *, version: str, kind: str = "", slug: str = INDEX, **names: str
) -> HttpResponse:
    """A page of the docs; without `kind` the overview, or an empty state that explains how to add docs."""
    if kind == DocsKind.OVERVIEW:
        raise NotFound("The overview has its own address.")
    opened = PROVIDERS.open(request, version, names)
    context = _contents(request, opened.shown, kind or DocsKind.OVERVIEW, slug)
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
        return _listed(shown, request) | _page(shown, kind, slug)
    if kind != DocsKind.OVERVIEW:
        raise NotFound(f"{shown.release} is in quarantine.")
    return {}


def _listed(shown: ProviderVersion, request: HttpRequest) -> dict[str, Any]:
    query = request.GET.get("q", "").replace("\0", "").strip()[:200]
    sections = browsing.sections_of(shown, query)
    total = sum(section.count for section in sections)
    found_count = sum(section.match_count for section in sections)
    are_open = bool(query) or total <= OPEN_UP_TO
    return {"sections": sections, "query": query, "page_count": total, "found_count": found_count, "are_open": are_open}


def _page(shown: ProviderVersion, kind: str, slug: str) -> dict[str, Any]:
    page = None
    try:
        page = browsing.page_of(shown, kind, slug)
    except NotFound:
        if kind != DocsKind.OVERVIEW:  # the tab is shown without an overview, too
            raise
    label = DocsKind(page.kind).label.removesuffix("s") if page else ""
    return {"page": page, "kind_label": label}


@bodies.streamed("POST")
@csrf_exempt  # Django's check would read the body; uploads check the origin instead (D2)
@require_http_methods(["GET", "HEAD", "POST"])
def provider_docs_archive(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    """The archive of the shown docs, and a form to upload another."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    status, error = 200, ""
    if request.method == "POST":
        try:
            check_origin(request)
            shown = replacing.version_of(viewer, address, version)
            received = replacing.receive(viewer=viewer, version=shown, open_body=lambda: file_of(request).chunks)
        except RegistryError as refusal:
            if refusal.code in ("not_found", "forbidden", "unauthenticated"):
                raise
            status, error = STATUS.get(refusal.code, 422), sentence(refusal)
        else:
            message = (
                "Archive received; a worker is reading it." if received.created else "The same bytes are already here."
            )
            messages.success(request, message)
            return HttpResponseRedirect(request.path, status=303)
    shown = replacing.version_of(viewer, address, version)
    archives = browsing.archives_of(shown)
    context = {"address": address, "release": shown.release, "archives": archives, "error": error}
    context |= {"is_waiting": browsing.is_waiting(archives), "page_count": len(browsing.index_of(shown))}
    context |= {"limit": drafts.limit_of("docs")[0], "file_name": f"terraform-provider-{type}_<version>_docs.zip"}
    return render(request, "portal/provider/docs_archive.html", context, status=status)


_DOCS = f"{PROVIDERS.path}/<str:version>/docs"

urlpatterns = [
    path(_DOCS, provider_docs, name="provider-docs"),
    path(f"{_DOCS}/archive", provider_docs_archive, name="provider-docs-archive"),
    path(f"{_DOCS}/<str:kind>/<str:slug>", provider_docs, name="provider-docs-page"),
]
