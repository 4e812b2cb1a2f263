"""/people/<name>: a person whom the reader knows, by what both may see: teams, roles, releases."""

from typing import Any

from django.db.models import F, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import path
from django.views.decorators.http import require_safe

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity.sessions import session_viewer
from apps.accounts.models import Namespace, Role, User
from apps.accounts.people import accounts
from apps.lib.errors import existing
from apps.portal.frame.rows import address_named
from apps.releases.models import Release

RELEASES = 10
MAX_ROWS = 50


@require_safe
def person(request: HttpRequest, person: str) -> HttpResponse:
    """One text for people who are hidden, and who are not there."""
    viewer = session_viewer(request)
    found = None if "\0" in person else accounts.shown_to(viewer).filter(username=person.lower()).first()
    row = existing(found, f"There is no person {person[:150]} whom you know.", hint="Check the spelling.")
    releases = Release.objects.published().filter(created_by=row, namespace__in=gate.visible_namespaces(viewer))
    newest = releases.select_related("namespace").order_by("-published_at", "-pk")[:RELEASES]
    context: dict[str, Any] = {"person": row, "roles": _roles(viewer, row)}
    context["releases"] = [(one, address_named(one.kind, one.namespace.name, one.name)) for one in newest]
    context["teams"] = gate.visible_teams(viewer).filter(memberships__user=row).order_by("name")[:MAX_ROWS]
    return render(request, "portal/people/person.html", context)


def _roles(viewer: Viewer, person: User) -> list[tuple[Namespace, Role]]:
    """Their role in each namespace that the reader owns; of the others that the reader sees, those that they own."""
    owned = set(gate.namespaces_with_role(viewer, Role.OWNER).values_list("pk", flat=True))
    seen: QuerySet[Any] = gate.visible_namespaces(viewer).annotate(theirs=gate.highest_role(person))
    rows = seen.exclude(theirs=None)
    return [
        (row, Role(row.theirs))
        for row in rows.order_by(F("theirs").desc(), "canonical")[:MAX_ROWS]
        if row.theirs == Role.OWNER or row.pk in owned
    ]


urlpatterns = [path("people/<str:person>", person, name="person")]
