"""Requests for publish access to a namespace: its owners hear of them by mail and webhook, and on their home page.

A request is an event of the audit and nothing else. It is open until the person may publish or an owner declines it, at
most for OPEN.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.db import transaction
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone

from apps.accounts.access.gate import Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.models import Grant, Namespace, NamespaceQuerySet, Role, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from apps.lib.errors import Conflict, TooManyAttempts

OPEN = timedelta(days=14)
DAY = timedelta(days=1)
# By one person in a day, to different namespaces.
MOST_IN_A_DAY = 10
LONGEST_REASON = 300
# Shown of one namespace.
MOST_OPEN = 20


@dataclass(frozen=True, slots=True)
class Request:
    namespace: Namespace
    user: User
    reason: str
    at: datetime


@people_only("request access")
@transaction.atomic
def request(*, namespace: Namespace, actor: Viewer, reason: str = "") -> None:
    """Record the request. Raises Conflict if they asked within a day, and TooManyAttempts.

    The caller asks the gate first, and not for those who may publish.
    """
    today = AuditEvent.objects.filter(kind=Kind.ACCESS_REQUESTED, actor_id=actor.user_id, at__gt=timezone.now() - DAY)
    if today.filter(subject=namespace.name).exists():
        raise Conflict(
            f"You already requested access to {namespace} within the last day.", hint="Its owners were notified."
        )
    if today.count() >= MOST_IN_A_DAY:
        raise TooManyAttempts(
            f"You have sent {MOST_IN_A_DAY} requests within a day, the maximum.",
            hint="Try again tomorrow.",
            wait=DAY.total_seconds(),
        )
    actor.record(Kind.ACCESS_REQUESTED, subject=namespace.name, reason=reason[:LONGEST_REASON])


@people_only("decline a request")
@transaction.atomic
def decline(*, namespace: Namespace, username: str, actor: Viewer) -> None:
    """Close the person's request. The caller asks the gate for an owner. Raises Conflict if none is open."""
    found = open_requests(Namespace.objects.filter(pk=namespace.pk), MOST_OPEN)
    one = next((one for one in found if one.user.username == username), None)
    if one is None:
        raise Conflict(f"{username[:150]} has no open request for {namespace}.", hint="Already answered.")
    actor.record(Kind.ACCESS_DECLINED, subject=namespace.name, person=username, person_id=one.user.pk)


def recent_of(user: User) -> dict[str, str]:
    """By name the namespaces for which the person asked within a day: `requested`, or `declined`."""
    today = AuditEvent.objects.filter(at__gt=timezone.now() - DAY)
    asked = today.filter(kind=Kind.ACCESS_REQUESTED, actor_id=user.pk)
    found = dict.fromkeys(asked.values_list("subject", flat=True), "requested")
    if found:
        declined = today.filter(kind=Kind.ACCESS_DECLINED, subject__in=found, detail__person_id=user.pk)
        found |= dict.fromkeys(declined.values_list("subject", flat=True), "declined")
    return found


def answer_path(namespace: Namespace, user: User) -> str:
    """The page with the form that gives the person the role."""
    return f"{reverse('portal:namespace-members', args=[namespace.name])}?{urlencode({'person': user.username})}"


def open_requests(namespaces: NamespaceQuerySet, most: int) -> list[Request]:
    """The newest open request of each person for each of these namespaces: one query without any, five with some."""
    events = AuditEvent.objects.filter(
        kind__in=[Kind.ACCESS_REQUESTED, Kind.ACCESS_DECLINED],
        namespace__in=namespaces.values("canonical"),
        at__gt=timezone.now() - OPEN,
    ).newest_first()
    newest: dict[tuple[str, int | None], AuditEvent] = {}
    for event in events[: most * 4]:
        person = event.actor_id if event.kind == Kind.ACCESS_REQUESTED else event.detail.get("person_id")
        newest.setdefault((event.namespace, person), event)
    newest = {key: event for key, event in newest.items() if event.kind == Kind.ACCESS_REQUESTED}
    if not newest:
        return []
    rows = {row.canonical: row for row in namespaces.filter(canonical__in={name for name, _ in newest})}
    people = User.objects.filter(is_active=True).in_bulk({number for _, number in newest if number})
    publishing = _publishing(list(rows.values()), list(people.values()))
    found = [
        Request(rows[name], people[number], str(event.detail.get("reason", "")), event.at)
        for (name, number), event in newest.items()
        if name in rows and number in people and (rows[name].pk, number) not in publishing
    ]
    return found[:most]


def _publishing(namespaces: Sequence[Namespace], people: Sequence[User]) -> set[tuple[int, int]]:
    """Return the pairs of namespace and person, by number, in which the person may publish."""
    grants = Grant.objects.filter(namespace__in=namespaces, role__gte=Role.PUBLISHER)
    own = grants.filter(user__in=people).values_list("namespace", "user")
    by_team = grants.filter(Q(team__memberships__user__in=people)).values_list("namespace", "team__memberships__user")
    return {*own, *by_team}
