"""The tombstone of a version that was taken away: owners and publishers of its namespace, and staff, read by whom, when
and why. For everyone else a quarantined version does not exist.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Namespace, Role
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.releases.models import Release, State

# For so long people's home pages show it.
RECENT = timedelta(days=30)


def may_see(viewer: Viewer, role: Role) -> bool:
    """Return whether the viewer reads of quarantined versions in a namespace in which they have the role."""
    return operators.is_operator(viewer) or (viewer.is_identified and role.covers(Role.PUBLISHER))


def quarantined(viewer: Viewer, role: Role, coordinate: Q) -> Release | None:
    """Return the quarantined version with that number, for those who may see it. The caller asks for `role`."""
    if not may_see(viewer, role):
        return None
    rows = Release.objects.filter(coordinate, state=State.PUBLISHED, quarantined_at__isnull=False)
    return rows.select_related("namespace", "created_by", "quarantined_by").first()


def taken_from(namespaces: Iterable[Namespace], most: int, now: datetime | None = None) -> list[Release]:
    """Return the versions that were quarantined or purged there within 30 days, the latest first.

    One query, with namespace, `quarantined_by` and `lifecycle_by`, who purged it. The caller asks for namespaces in
    which the person publishes. A queryset of namespaces is not evaluated.
    """
    since = (now or timezone.now()) - RECENT
    taken = Q(state=State.PUBLISHED, quarantined_at__gte=since) | Q(state=State.PURGED, lifecycle_at__gte=since)
    rows = Release.objects.filter(taken, namespace__in=namespaces)
    found = rows.select_related("namespace", "quarantined_by", "lifecycle_by").order_by("-pk")[: most * 4]
    return sorted(found, key=taken_at, reverse=True)[:most]


def taken_at(release: Release) -> datetime:
    """Return when a tombstone was taken away."""
    at = release.lifecycle_at if release.state == State.PURGED else release.quarantined_at
    assert at is not None  # noqa: S101  # both verbs write it
    return at


def notified_of(release: Release) -> int:
    """Count the people whom the actor notified when the version was quarantined or purged."""
    kind = Kind.RELEASE_PURGED if release.state == State.PURGED else Kind.RELEASE_QUARANTINED
    events = AuditEvent.objects.filter(kind=kind, subject=str(release), namespace=release.namespace.canonical)
    event = events.order_by("-at", "-pk").first()
    return len(event.detail.get("people", ())) if event else 0
