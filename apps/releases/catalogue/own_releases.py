"""A person's own releases, modules and providers alike: by where they are, and how many wait for an answer."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Case, Count, Q, QuerySet, Value, When

from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Role
from apps.releases.models import Release, ReleaseQuerySet, State

HELD, RUNNING, REFUSED, PUBLISHED = "held", "running", "refused", "published"
GROUPS: Mapping[str, tuple[State, ...]] = {
    HELD: (State.HELD,),
    RUNNING: (State.RECEIVING, State.RECEIVED, State.CHECKING, State.SIGNING),
    REFUSED: (State.REJECTED, State.FAILED),
    PUBLISHED: (State.PUBLISHED, State.PURGED),
}


def releases_of(viewer: Viewer, group: str = "") -> ReleaseQuerySet:
    """What the viewer started and may still open: what needs an answer first, then what runs, then the newest."""
    rows = _own(viewer)
    if group:
        rows = rows.filter(state__in=GROUPS[group])
    urgency = Case(
        When(state=State.HELD, then=Value(0)), When(state__in=GROUPS[RUNNING], then=Value(1)), default=Value(2)
    )
    return rows.select_related("namespace").order_by(urgency, "-created_at", "-pk")


def open_releases(viewer: Viewer) -> ReleaseQuerySet:
    """Those that are held or running."""
    return releases_of(viewer).filter(state__in=[*GROUPS[HELD], *GROUPS[RUNNING]])


def counts(viewer: Viewer) -> dict[str, int]:
    """How many releases each group has. One query."""
    asked: dict[str, Any] = {name: Count("pk", filter=Q(state__in=states)) for name, states in GROUPS.items()}
    return _own(viewer).aggregate(**asked)


def count_waiting(viewer: Viewer) -> int:
    """How many wait for the viewer's answer."""
    return _own(viewer).filter(state=State.HELD).count() if viewer.is_identified else 0


def _own(viewer: Viewer) -> ReleaseQuerySet:
    namespaces: QuerySet[Any] = gate.namespaces_with_role(viewer, Role.PUBLISHER)
    return Release.objects.filter(created_by=viewer.user, namespace__in=namespaces)
