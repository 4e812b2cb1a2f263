"""/: for publishers what waits for them and what they have, for others first steps; and recent publications."""

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
from apps.accounts.access.operators import creation_refused
from apps.accounts.identity.authentication import session_viewer
from apps.accounts.models import Namespace, Role, User
from apps.portal import owned
from apps.portal.frame.rows import rows_of
from apps.releases.catalogue import search
from apps.releases.models import Kind, SearchDoc

RECENT = 8
POPULAR = 5
NAMESPACES = 12


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
    context: dict[str, Any] = counts(viewer)
    # Only members see the publisher's name; the query is the same for everyone.
    recent = listed(viewer, sort=search.UPDATED).annotate(publisher=F("release__created_by__username"))
    context["recent"] = rows_of(recent[:RECENT])
    if viewer.user is None:
        return render(request, "portal/home/visitor.html", context)
    rows = own_namespaces(viewer.user)[: NAMESPACES + 1]
    places = [Place(row, Role(row.held), row.module_count, row.provider_count) for row in rows]
    context |= {"places": places[:NAMESPACES], "more_places": len(places) > NAMESPACES}
    context["may_create"] = not creation_refused(viewer)
    context["publishes"] = any(Role(row.held).covers(Role.PUBLISHER) for row in rows)
    if context["publishes"]:
        context |= owned.home_context(viewer, viewer.user)
    else:
        context["popular"] = rows_of(listed(viewer, sort=search.DOWNLOADS).filter(downloads__gt=0)[:POPULAR])
    if not (context["publishes"] and (context["module_count"] or context["provider_count"])):
        context["has_token"] = viewer.user.api_tokens.exists()
    return render(request, "portal/home/member.html", context)


def counts(viewer: Viewer) -> dict[str, int]:
    """The modules and providers that the viewer sees in lists, in one query."""
    docs = SearchDoc.objects.filter(namespace__in=gate.visible_namespaces(viewer), is_listed=True)
    kinds = {f"{kind}_count": Count("pk", filter=Q(kind=kind)) for kind in (Kind.MODULE, Kind.PROVIDER)}
    return docs.aggregate(**kinds)


def listed(viewer: Viewer, *, sort: str = search.BY_NAME) -> QuerySet[SearchDoc]:
    namespaces = gate.visible_namespaces(viewer)
    return search.search(kind=Kind.MODULE, namespaces=namespaces, sort=sort).select_related("namespace")


def own_namespaces(user: User) -> QuerySet[Any, Any]:
    """Namespaces in which the person or a team of theirs has a role, the highest role first, with counts of entries."""
    mine = Namespace.objects.filter(pk__in=gate.grants_of(user).values("namespace"))
    counts = {
        f"{kind}_count": Count("search_docs", filter=Q(search_docs__kind=kind)) for kind in (Kind.MODULE, Kind.PROVIDER)
    }
    return mine.annotate(held=gate.highest_role(user), **counts).order_by("-held", "name", "pk")


urlpatterns = [
    path("", home, name="home"),
]
