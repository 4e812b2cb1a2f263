"""Rows that a token created, so that they can end together with it: after a leak the thief's own access must go, too.

Each room describes its rows (`Source`); registry_site/wiring.py adds those of the rooms above. There is one level: a
token that a token created has no scope manage, so it creates nothing of this kind. Changes to what existed before
(roles taken away, addresses of webhooks) are in the audit alone.
"""

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from apps.accounts import namespaces
from apps.accounts.access import gate
from apps.accounts.access.gate import Viewer
from apps.accounts.identity import tokens
from apps.accounts.models import ApiToken, Grant, Invitation, Membership, Role, Scope, User
from apps.accounts.people import invitations, service_accounts, teams
from apps.lib.errors import RegistryError

# Of one kind in one step; what is left is listed again.
MAX_ROWS = 200


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of row with `created_by_token`.

    `rows` returns those that have not ended, with what `name` reads. `end` asks the gate for the actor's right to do
    so, calls the verb, and raises RegistryError. `at` is the name of the column that says since when a row exists.
    """

    kind: str
    rows: Callable[[], QuerySet[Any]]
    name: Callable[[Any], str]
    end: Callable[[Any, Viewer], None]
    at: str = "created_at"


@dataclass(frozen=True, slots=True)
class Creation:
    source: Source
    row: Any

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def name(self) -> str:
        return self.source.name(self.row)

    @property
    def at(self) -> datetime:
        moment: datetime = getattr(self.row, self.source.at)
        return moment

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


@dataclass(frozen=True, slots=True)
class Ended:
    """The creations that have ended, and those that have not, with the reason."""

    ended: list[Creation]
    kept: list[tuple[Creation, RegistryError]]


def creations_of(token: ApiToken) -> list[Creation]:
    """Return what the token created and has not ended."""
    if token.scope != Scope.MANAGE:
        return []
    return [
        Creation(source, row)
        for source in _all_sources()
        for row in source.rows().filter(created_by_token=token).order_by("pk")[:MAX_ROWS]
    ]


def counts_of(listed: Collection[ApiToken]) -> Counter[int]:
    """Return how many creations of each of these tokens have not ended, by the token's id."""
    numbers = [token.pk for token in listed if token.scope == Scope.MANAGE]
    counts: Counter[int] = Counter()
    for source in _all_sources() if numbers else ():
        rows = source.rows().filter(created_by_token__in=numbers).order_by()
        counts.update(rows.values_list("created_by_token", flat=True))
    return counts


@transaction.atomic
def revoke_with_creations(*, token: ApiToken, actor: Viewer) -> Ended:
    """Revoke the token and end what it created, each by its own verb, as far as the actor may. Safe to repeat.

    What cannot end (a key that is still being generated, the role of an only owner) stays listed, with the reason.
    """
    tokens.revoke(token=token, actor=actor)
    found = Ended([], [])
    for creation in creations_of(token):
        try:
            with transaction.atomic():
                creation.source.end(creation.row, actor)
        except RegistryError as refused:
            found.kept.append((creation, refused))
        else:
            found.ended.append(creation)
    return found


def _all_sources() -> tuple[Source, ...]:
    return (*_OWN, *sources)


def _end_role(grant: Grant, actor: Viewer) -> None:
    gate.namespace_for(actor, grant.namespace.name, need=Role.OWNER)
    namespaces.withdraw(grant=grant, actor=actor)


def _end_membership(membership: Membership, actor: Viewer) -> None:
    gate.team_for(actor, membership.team.name, manage=True)
    teams.remove(membership=membership, actor=actor)


def _end_token(token: ApiToken, actor: Viewer) -> None:
    _manage_account(token.user, actor)
    tokens.revoke(token=token, actor=actor)


def _end_account(account: User, actor: Viewer) -> None:
    _manage_account(account, actor)
    service_accounts.delete(account=account, actor=actor)


def _manage_account(account: User, actor: Viewer) -> None:
    assert account.service_of is not None  # noqa: S101  # a deleted team has deleted its accounts, and ended their tokens
    gate.team_for(actor, account.service_of.name, manage=True)


def _end_invitation(invitation: Invitation, actor: Viewer) -> None:
    invitations.revoke(invitation=invitations.managed_one(actor, invitation.pk), actor=actor)


def _open_tokens() -> QuerySet[ApiToken]:
    return ApiToken.objects.usable(timezone.now()).select_related("user__service_of")


def _open_invitations() -> QuerySet[Invitation]:
    still_open = Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return still_open.select_related("namespace")


# Roles first: a thief who has one could undo the rest.
_OWN = (
    Source(
        "role",
        lambda: Grant.objects.select_related("namespace", "user", "team"),
        lambda grant: f"{grant.get_role_display().lower()} of {grant.namespace} for {_grantee(grant)}",
        _end_role,
        at="given_at",
    ),
    Source(
        "membership",
        lambda: Membership.objects.filter(user__is_service=False).select_related("team", "user"),
        lambda membership: f"{membership.user} in the team {membership.team}",
        _end_membership,
        at="added_at",
    ),
    Source(
        "invitation",
        _open_invitations,
        lambda invitation: f"“{invitation}”{f' to {invitation.namespace}' if invitation.namespace else ''}",
        _end_invitation,
    ),
    Source("token", _open_tokens, lambda token: f"{token.start}… of {token.user}", _end_token),
    Source(
        "service account",
        lambda: User.objects.filter(is_service=True, is_active=True).select_related("service_of"),
        str,
        _end_account,
        at="date_joined",
    ),
)
sources: tuple[Source, ...] = ()  # by registry_site/wiring.py


def _grantee(grant: Grant) -> str:
    return f"the team {grant.team}" if grant.team else str(grant.user)
