"""Deactivate people who leave, and find what would be left without an owner or manager."""

from dataclasses import dataclass

from django.db.models import Q
from django.utils import timezone

from apps.accounts.access import epoch
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import sessions
from apps.accounts.models import Grant, Invitation, Membership, Namespace, Role, Team, User
from apps.accounts.people import invitations


@dataclass(frozen=True, slots=True)
class LeftBehind:
    namespaces: list[Namespace]
    teams: list[Team]

    def __bool__(self) -> bool:
        return bool(self.namespaces or self.teams)

    def __str__(self) -> str:
        parts = []
        if self.namespaces:
            parts.append("the only owner of " + ", ".join(namespace.name for namespace in self.namespaces))
        if self.teams:
            parts.append("the only manager of " + ", ".join(f"the team {team.name}" for team in self.teams))
        return " and ".join(parts)


def left_behind(user: User) -> LeftBehind:
    """Return the namespaces and teams without an active owner or manager besides this person."""
    teams = Membership.objects.filter(user=user)
    owned = Grant.objects.filter(Q(user=user) | Q(team__in=teams.values("team")), role=Role.OWNER)
    others = Grant.objects.active_owners(besides=user)
    namespaces = Namespace.objects.filter(pk__in=owned.values("namespace")).exclude(pk__in=others.values("namespace"))
    managers = Membership.objects.filter(is_manager=True, user__is_active=True).exclude(user=user)
    managed = Team.objects.filter(pk__in=teams.filter(is_manager=True).values("team"))
    return LeftBehind(
        namespaces=list(namespaces.alphabetical()),
        teams=list(managed.exclude(pk__in=managers.values("team")).alphabetical()),
    )


def lock_out(*, user: User, actor: Viewer) -> None:
    """End sessions and open invitations, in the transaction of the verb that deactivates the account.

    Inactive accounts have no valid tokens or sessions anyway (`tokens.identify`). Sessions are deleted so that an
    account that is activated again is not still signed in somewhere.
    """
    sessions.end_all(user)
    epoch.advance()  # for the tokens
    for invitation in Invitation.objects.filter(
        created_by=user, used_at=None, revoked_at=None, expires_at__gt=timezone.now()
    ).order_by("pk"):
        invitations.revoke(invitation=invitation, actor=actor)
