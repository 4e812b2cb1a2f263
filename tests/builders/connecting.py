"""The connections of a namespace, one of each kind. Nothing is called."""

from typing import Any

from apps.accounts import namespaces
from apps.accounts.access import connections
from apps.accounts.access.connections import Connected
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Namespace, User
from apps.audit.kinds import Kind
from apps.audit.models import AuditEvent
from tests import rooms

_OF_ROOMS = rooms.rows("CONNECTIONS")
KINDS = tuple(one.kind for one in connections.sources if one.kind in _OF_ROOMS)
# What texts call them.
NAMES = tuple(rooms.entries("CONNECTION_NAMES"))


def connect_all(namespace: Namespace, owner: User, name: str = "vpc") -> dict[str, Any]:
    """Return the rows by kind."""
    return {kind: connect(namespace, owner, name) for kind, connect in _OF_ROOMS.items()}


def kinds_of(found: list[Connected]) -> list[str]:
    return [one.kind for one in found]


def suspended(namespace: Namespace) -> list[str]:
    return kinds_of(connections.waiting_in(namespace))


def left_behind() -> list[str]:
    return kinds_of(connections.left_behind())


def own(namespace: Namespace, person: User) -> Grant:
    return Grant.objects.get(namespace=namespace, user=person)


def hand_over(namespace: Namespace, giver: User, to: User, *, actor: User | None = None, **more: Any) -> Grant:
    grant = own(namespace, giver)
    return namespaces.transfer(namespace=namespace, to=to, giver=grant, actor=Viewer(actor or giver), **more)


def listed(kind: Kind = Kind.CONNECTIONS_LEFT_BEHIND) -> list[list[str]]:
    """The kinds in each event."""
    rows = AuditEvent.objects.filter(kind=kind).order_by("pk")
    return [sorted(one["kind"] for one in row.detail["connections"]) for row in rows]
