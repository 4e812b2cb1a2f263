"""Namespaces whose owners a person can ask for publish access."""

from collections.abc import Sequence
from dataclasses import dataclass

from apps.accounts.access import contacts, gate
from apps.accounts.models import Namespace, User
from apps.accounts.people import access_requests

MOST = 3


@dataclass(frozen=True, slots=True)
class Asking:
    namespace: Namespace
    owners: list[str]
    state: str  # requested or declined if they asked within a day: a second request is refused


def asking_of(user: User, namespaces: Sequence[Namespace]) -> list[Asking]:
    """For portal/namespaces/asking.html."""
    shown = namespaces[:MOST]
    owners, requested = contacts.owners_by_namespace(shown), access_requests.recent_of(user) if shown else {}
    return [Asking(one, owners.get(one.pk, []), requested.get(one.name, "")) for one in shown]


def readable_by(user: User) -> list[Namespace]:
    """Namespaces in which the person has a role."""
    return list(Namespace.objects.filter(pk__in=gate.grants_of(user).values("namespace")).alphabetical()[:MOST])
