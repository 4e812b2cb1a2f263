"""The docs of a provider version: its pages beside their list, and for publishers the uploaded archives."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import path, reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Role
from apps.lib import bodies
from apps.lib.addresses import ProviderAddress
from apps.lib.errors import NotFound, RegistryError
from apps.portal.providers.pages import frame
from apps.portal.publish import multipart_body, uploads
from apps.portal.publish.form import sentence
from apps.providers import reading
from apps.providers.docs import browsing, replacing
from apps.providers.docs.layouts import INDEX
from apps.providers.drafting import drafts
from apps.providers.models import DocsKind, DocsPage, ProviderVersion

IN_SWITCHER = 20
OPEN_UP_TO = 60


@dataclass(frozen=True, slots=True)
class Other:
    """Another version and the URL of its docs: the same page, if it has one."""

    number: str
    url: str
    is_shown: bool
    is_yanked: bool


@login_not_required
@require_safe
def provider_docs(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002  # the field's word
    """The overview, or an empty state that explains how to add docs."""
    return _docs(request, ProviderAddress(namespace, type), version, DocsKind.OVERVIEW, INDEX)


@login_not_required
@require_safe
def provider_docs_page(
    request: HttpRequest,
    *,
    namespace: str,
    type: str,  # noqa: A002
    version: str,
    kind: str,
    slug: str,
) -> HttpResponse:
    if kind == DocsKind.OVERVIEW:
        raise NotFound("The overview has an address of its own.")
    return _docs(request, ProviderAddress(namespace, type), version, kind, slug)


def _docs(request: HttpRequest, address: ProviderAddress, version: str, kind: str, slug: str) -> HttpResponse:
    viewer = session_viewer(request)
    shown = reading.version_for(viewer, address, version, even_quarantined=True)
    context = frame(viewer, shown, "provider-docs")
    context["may_publish"] = _may_publish(viewer, shown)
    if shown.release.quarantined_at is None:  # quarantined versions give out nothing
        context |= _listed(shown, request) | _page(shown, kind, slug)
    elif kind != DocsKind.OVERVIEW:
        raise NotFound(f"{shown.release} is in quarantine.")
    return render(request, "portal/provider/docs.html", context)


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
    return {"page": page, "kind_label": label, "versions": list(_others(shown, page))}


def _others(shown: ProviderVersion, page: DocsPage | None) -> Iterator[Other]:
    """The newest versions; one query tells which of them have the page."""
    rows = ProviderVersion.objects.filter(provider=shown.provider).published().select_related("release__namespace")
    having = browsing.versions_with(shown, page)
    for one in rows.newest_first()[:IN_SWITCHER]:
        at: list[str] = [shown.release.namespace.name, shown.provider.type, one.release.version]
        if page is not None and page.kind != DocsKind.OVERVIEW and one.pk in having:
            url = reverse("portal:provider-docs-page", args=[*at, page.kind, page.slug])
        else:
            url = reverse("portal:provider-docs", args=at)
        yield Other(one.release.version, url, one.pk == shown.pk, one.release.lifecycle == "yanked")


@bodies.streamed("POST")
@csrf_exempt  # Django's check would read the body; uploads check the origin instead (D2)
@require_http_methods(["GET", "HEAD", "POST"])
def provider_docs_archive(request: HttpRequest, namespace: str, type: str, version: str) -> HttpResponse:  # noqa: A002
    """The archive of the shown docs, and a form to upload another."""
    viewer, address = session_viewer(request), ProviderAddress(namespace, type)
    status, error = 200, ""
    if request.method == "POST":
        try:
            uploads.check_origin(request)
            shown = replacing.version_of(viewer, address, version)
            received = replacing.receive(viewer=viewer, version=shown, open_body=lambda: _file_of(request))
        except RegistryError as refusal:
            if refusal.code in ("not_found", "forbidden", "unauthenticated"):
                raise
            is_foreign = isinstance(refusal, uploads.ForeignOrigin)
            status, error = 403 if is_foreign else uploads.STATUS.get(refusal.code, 422), sentence(refusal)
        else:
            message = "The archive is there; a worker reads it." if received.created else "These very bytes are there."
            messages.success(request, message)
            return HttpResponseRedirect(request.path, status=303)
    shown = replacing.version_of(viewer, address, version)
    archives = browsing.archives_of(shown)
    context = {"address": address, "release": shown.release, "archives": archives, "error": error}
    context |= {"is_waiting": browsing.is_waiting(archives), "page_count": len(browsing.index_of(shown))}
    context |= {"limit": drafts.limit_of("docs")[0], "file_name": f"terraform-provider-{type}_<version>_docs.zip"}
    return render(request, "portal/provider/docs_archive.html", context, status=status)


def _file_of(request: HttpRequest) -> Iterator[bytes]:
    chunks = bodies.chunks(request.environ)  # type: ignore[attr-defined]  # WSGIRequest has it
    return multipart_body.file_part(request.META.get("CONTENT_TYPE", ""), chunks).chunks


def _may_publish(viewer: Viewer, shown: ProviderVersion) -> bool:
    role = gate.role_on(viewer, shown.provider.namespace, only_name=shown.provider.type)
    return role not in (None, Role.READER)


_DOCS = "providers/<str:namespace>/<str:type>/<str:version>/docs"

urlpatterns = [
    path(_DOCS, provider_docs, name="provider-docs"),
    path(f"{_DOCS}/archive", provider_docs_archive, name="provider-docs-archive"),
    path(f"{_DOCS}/<str:kind>/<str:slug>", provider_docs_page, name="provider-docs-page"),
]
