"""The list of modules, and a namespace's page. One module's pages are in module_pages.py."""

from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts import access
from apps.accounts.authentication import session_viewer
from apps.accounts.models import Role
from apps.modules.models import Module, ModuleQuerySet
from apps.modules.reading import visible_modules
from apps.portal import module_pages
from apps.portal.paging import page_of

PAGE = 30
SORTS = {"name": "Name", "updated": "Last published"}


@login_not_required
@require_safe
def modules(request: HttpRequest) -> HttpResponse:
    visible = visible_modules(session_viewer(request))
    asked = {name: _clean(request.GET.get(name, "")) for name in ("q", "namespace", "system")}
    sort = request.GET.get("sort", "")
    sort = sort if sort in SORTS else "name"
    page = page_of(_sorted(_matching(visible, **asked), sort).select_related("namespace"), request, size=PAGE)
    context: dict[str, Any] = {"asked": asked, "is_filtered": any(asked.values()), "page": page}
    context |= {"sort": sort, "sorts": SORTS}
    context["namespaces"] = visible.order_by("namespace__name").values_list("namespace__name", flat=True).distinct()
    context["systems"] = visible.order_by("system").values_list("system", flat=True).distinct()
    return render(request, "portal/modules/list.html", context)


def _clean(text: str) -> str:
    """PostgreSQL refuses NUL in text, and no address is longer than 200 characters."""
    return text.replace("\0", "").strip()[:200]


def _matching(rows: ModuleQuerySet, *, q: str, namespace: str, system: str) -> ModuleQuerySet:
    """Every word of `q` is somewhere in the address; `acme/vpc` is two words."""
    for word in q.replace("/", " ").split():
        rows = rows.filter(Q(namespace__name__icontains=word) | Q(name__icontains=word) | Q(system__icontains=word))
    if namespace:
        rows = rows.filter(namespace__name=namespace)
    if system:
        rows = rows.filter(system=system)
    return rows


def _sorted(rows: ModuleQuerySet, sort: str) -> ModuleQuerySet:
    rows = rows.with_latest()
    return rows.order_by(F("latest_at").desc(nulls_last=True), "pk") if sort == "updated" else rows.alphabetical()


@login_not_required
@require_safe
def namespace(request: HttpRequest, name: str) -> HttpResponse:
    viewer = session_viewer(request)
    found = access.namespace_for(viewer, name)
    role = access.role_on(viewer, found) if viewer.is_identified else None
    rows = Module.objects.filter(namespace=found).select_related("namespace").with_latest().alphabetical()
    context: dict[str, Any] = {"namespace": found, "page": page_of(rows, request, size=PAGE), "role": role}
    context["may_publish"] = role is not None and role.covers(Role.PUBLISHER)
    context["may_manage"] = role == Role.OWNER
    if role is not None:  # who works on what is nobody else's business
        context["member_count"] = found.grants.count()
    return render(request, "portal/namespace/page.html", context)


urlpatterns = [
    path("modules", modules, name="modules"),
    *module_pages.urlpatterns,
    # After /namespaces/new, which apps.portal.urls lists before.
    path("namespaces/<str:name>", namespace, name="namespace"),
]
