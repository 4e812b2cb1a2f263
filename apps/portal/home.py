"""/: recent publications and next steps."""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.decorators import login_not_required
from django.db.models import Count, F, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Namespace, Role, User
from apps.accounts.namespaces import creation_refused
from apps.portal.frame.rows import rows_of
from apps.portal.publish import own_releases
from apps.releases.catalogue import own_releases as own
from apps.releases.catalogue import search
from apps.releases.models import Kind, SearchDoc

RECENT = 8
POPULAR = 5
NAMESPACES = 12
OPEN_RELEASES = 5


@dataclass(frozen=True, slots=True)
class Place:
    """A namespace in which the person has a role."""

    namespace: Namespace
    role: Role
    module_count: int
    provider_count: int


@login_not_required
@require_safe
def home(request: HttpRequest) -> HttpResponse:
    viewer = session_viewer(request)
    providers = search.search(kind=Kind.PROVIDER, namespaces=gate.visible_namespaces(viewer))
    context: dict[str, Any] = {"module_count": listed(viewer).count(), "provider_count": providers.count()}
    # Only members see the publisher's name; the query is the same for everyone.
    recent = listed(viewer, sort=search.UPDATED).annotate(publisher=F("release__created_by__username"))
    context["recent"] = rows_of(recent[:RECENT])
    if viewer.user is None:
        return render(request, "portal/home/visitor.html", context)
    context["popular"] = rows_of(listed(viewer, sort=search.DOWNLOADS).filter(downloads__gt=0)[:POPULAR])
    rows = own_namespaces(viewer.user)[: NAMESPACES + 1]
    places = [Place(row, Role(row.held), row.module_count, row.provider_count) for row in rows]
    context |= {"places": places[:NAMESPACES], "more_places": len(places) > NAMESPACES}
    context["may_create"] = not creation_refused(viewer)
    context["releases"] = own_releases.rows_of(list(own.open_releases(viewer)[:OPEN_RELEASES]))
    if not (context["module_count"] or context["provider_count"]):
        context["has_token"] = viewer.user.api_tokens.exists()
    return render(request, "portal/home/member.html", context)


def listed(viewer: Viewer, *, sort: str = search.BY_NAME) -> QuerySet[SearchDoc]:
    namespaces = gate.visible_namespaces(viewer)
    return search.search(kind=Kind.MODULE, namespaces=namespaces, sort=sort).select_related("namespace")


def own_namespaces(user: User) -> QuerySet[Any, Any]:
    """Namespaces in which the person or a team of theirs has a role, with their numbers of modules and providers."""
    mine = Namespace.objects.filter(pk__in=gate.grants_of(user).values("namespace"))
    counts = {
        f"{kind}_count": Count("search_docs", filter=Q(search_docs__kind=kind)) for kind in (Kind.MODULE, Kind.PROVIDER)
    }
    return mine.annotate(held=gate.highest_role(user), **counts).order_by("name", "pk")


urlpatterns = [
    path("", home, name="home"),
]
