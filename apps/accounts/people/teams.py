"""Verbs on teams. The caller asks the gate first; the rules here bind everyone."""

import re
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.accounts.access import connections, gate, operators
from apps.accounts.access.connections import Connected
from apps.accounts.access.gate import Viewer, visible_namespaces, visible_teams
from apps.accounts.access.people_only import people_only
from apps.accounts.models import DeletedTeam, Grant, Membership, Namespace, Role, Team, User
from apps.accounts.people import service_accounts
from apps.audit.kinds import Kind
from apps.lib.errors import Conflict, Invalid, NotFound, existing

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.ASCII)
_RESERVED = frozenset({"new"})


def check_name(name: str) -> None:
    """Raises Invalid with the rule that the name breaks."""
    if len(name) > 63 or not _NAME.fullmatch(name):  # noqa: PLR2004  # the column's width
        raise Invalid(
            f"{name[:80]!r} cannot name a team: it has 1 to 63 lower-case letters and digits, with single - inside.",
            hint="Choose another, such as platform or data-eng.",
        )
    if name in _RESERVED:
        raise Invalid(f"The name {name} is reserved for URLs of Larder.", hint="Choose another.")


def create(*, name: str, actor: Viewer, description: str = "") -> Team:
    """Create a team with its creator as first manager. The name of a deleted team stays taken.

    Raises Invalid, Conflict, CredentialsRequired or RoleRequired.
    """
    first = operators.creator(actor, "a team")
    check_name(name)
    _check_description(description)
    try:
        return _create(name, description, first, actor)
    except IntegrityError:
        seen = visible_teams(actor).filter(name=name).exists()
        raise (
            Conflict(f"The team {name} already exists.", hint="Choose another name.") if seen else _taken(name)
        ) from None


def _taken(name: str) -> Conflict:
    """The same for a hidden team and for one that was deleted."""
    return Conflict(
        f"The name {name} is taken by a team that you cannot see or by a deleted team.",
        hint="Choose another name: names of deleted teams cannot be reused.",
    )


@transaction.atomic
def _create(name: str, description: str, first: User, actor: Viewer) -> Team:
    team = Team.objects.create(name=name, description=description, created_by=first)
    # After the insert: it has waited for a transaction that deletes a team of this name.
    if DeletedTeam.objects.filter(name=name).exists():
        raise _taken(name)
    Membership.objects.create(team=team, user=first, is_manager=True, added_by=first)
    _record(Kind.TEAM_CREATED, team, actor, manager=first.pk)
    return team


@transaction.atomic
def describe(*, team: Team, description: str, actor: Viewer) -> None:
    """Change the description. Raises Invalid."""
    _check_description(description)
    row = _locked(team.pk)
    if row.description == description:
        return
    Team.objects.filter(pk=row.pk).update(description=description)
    team.description = description
    _record(Kind.TEAM_CHANGED, team, actor, changes={"description": [row.description, description]})


@people_only("change the members of a team")
@transaction.atomic
def add(*, team: Team, user: User, actor: Viewer) -> Membership:
    """Add a member, who has the team's roles from the next request on. Safe to repeat."""
    if not user.is_active:
        raise Invalid("This account is deactivated.", hint="Ask an operator to activate it first.")
    service_accounts.refuse_direct_role(user)
    _locked(team.pk)
    by = {"added_by": actor.user, "created_by_token": actor.token}
    membership, is_new = Membership.objects.get_or_create(team=team, user=user, defaults=by)
    if is_new:
        _record(Kind.TEAM_MEMBER_ADDED, team, actor, user=user.pk)
    return membership


@people_only("change the members of a team")
@transaction.atomic
def set_manager(*, membership: Membership, is_manager: bool, actor: Viewer) -> None:
    """Make a member a manager, or no longer one. Raises Conflict if none would be left, except for staff.

    Raises Invalid for a service account.
    """
    _locked(membership.team_id)
    row = Membership.objects.select_related("team", "user").filter(pk=membership.pk).first()
    if row is None:
        raise NotFound("This person is no longer in the team.", hint="The team's page has the list.")
    if row.is_manager == is_manager:
        return
    if is_manager:
        service_accounts.refuse_direct_role(row.user)
    else:
        _keep_a_manager(row, actor)
    Membership.objects.filter(pk=row.pk).update(is_manager=is_manager)
    membership.is_manager = is_manager
    _record(Kind.TEAM_MEMBER_CHANGED, row.team, actor, user=row.user_id, manager=is_manager)


@people_only("change the members of a team")
@transaction.atomic
def remove(*, membership: Membership, actor: Viewer) -> list[Connected]:
    """End a membership, and with it the roles of the team; return what is left behind by it. Safe to repeat.

    Raises Conflict if no manager would be left (except for staff), or a namespace would have no owner.
    """
    owned = _locked_with_namespaces(membership.team_id)
    row = Membership.objects.select_related("user", "team").filter(pk=membership.pk).first()
    if row is None:
        return []
    team = row.team
    _keep_a_manager(row, actor)
    others = team.memberships.filter(user__is_active=True, user__is_service=False).exclude(pk=row.pk)
    if row.user.is_active and not others.exists():
        _keep_owners(team, owned, f"Without {row.user} the team {team} has no members left, and it")
    with connections.watching(actor, users=[row.user_id]) as left:
        row.delete()
        _record(Kind.TEAM_MEMBER_REMOVED, team, actor, user=row.user_id)
    return left


@transaction.atomic
def end_membership(*, membership: Membership, actor: Viewer, **detail: object) -> None:
    """End a membership even of the last manager or owner: an identity provider has taken it away, which counts more."""
    _locked(membership.team_id)
    with connections.watching(actor, users=[membership.user_id]):
        if Membership.objects.filter(pk=membership.pk).delete()[0]:
            _record(Kind.TEAM_MEMBER_REMOVED, membership.team, actor, user=membership.user_id, **detail)


@people_only("delete a team")
@transaction.atomic
def delete(*, team: Team, actor: Viewer) -> list[Connected]:
    """Delete the team with its memberships and roles; its name stays taken. Return what is left behind by it.

    Raises Conflict if it is the only owner of a namespace.
    """
    owned = _locked_with_namespaces(team.pk)
    _keep_owners(team, owned, f"The team {team}")
    held = Grant.objects.filter(team=team).select_related("namespace").order_by("namespace__name", "pk")
    roles = {grant.namespace.name: grant.get_role_display().lower() for grant in held}
    members = sorted(members_of(team).values_list("user", flat=True))
    left: list[Connected] = []
    for account in service_accounts.accounts_of(team):
        left += service_accounts.delete(account=account, actor=actor)
    with connections.watching(actor, namespaces=[namespace.pk for namespace in owned]) as of_people:
        _record(Kind.TEAM_DELETED, team, actor, members=members, roles=roles)
        # An older Larder beside this one may have used a name again.
        DeletedTeam.objects.get_or_create(name=team.name, defaults={"deleted_at": timezone.now()})
        Team.objects.filter(pk=team.pk).delete()
    return left + of_people


def listed(viewer: Viewer) -> QuerySet[Any]:
    """Return the teams that the viewer sees, with `people`, `managers`, and the viewer's `is_mine` and `is_managed`."""
    mine = Membership.objects.filter(team=OuterRef("pk"), user=viewer.user_id)
    active = Q(memberships__user__is_active=True, memberships__user__is_service=False)
    return visible_teams(viewer).annotate(
        people=Count("memberships", filter=active),
        managers=Count("memberships", filter=active & Q(memberships__is_manager=True)),
        is_mine=Exists(mine),
        is_managed=Exists(mine.filter(is_manager=True)),
    )


def team_named(name: str) -> Team:
    """Return any team, even a hidden one, for owners who name it to give it a role. Raises NotFound."""
    team = None if "\0" in name else Team.objects.filter(name=name).first()
    return existing(team, f"There is no team {name}.", hint="Check the spelling, or create the team.")


def members_of(team: Team) -> QuerySet[Membership]:
    """Return the memberships of people, managers first."""
    return people_in().filter(team=team).select_related("user")


def people_in() -> QuerySet[Membership]:
    """Return the memberships of people in all teams, managers first."""
    return Membership.objects.filter(user__is_service=False).order_by("-is_manager", "user__username", "pk")


def roles_of(team: Team, *, seen_by: Viewer) -> QuerySet[Grant]:
    """Return the team's grants in namespaces that the viewer sees."""
    rows = Grant.objects.filter(team=team, namespace__in=visible_namespaces(seen_by))
    return rows.select_related("namespace").order_by("namespace__name", "pk")


def _locked(pk: int) -> Team:
    """Return the current row, locked: others who change this team wait."""
    row = Team.objects.select_for_update().filter(pk=pk).first()
    return existing(row, "This team was deleted.", hint="The teams page has the list.")


def _locked_with_namespaces(pk: int) -> list[Namespace]:
    """Lock the team's namespaces, then the team, in the order of `namespaces.grant`; return the namespaces."""
    owned = Grant.objects.filter(team=pk, role=Role.OWNER).values("namespace")
    locked = list(Namespace.objects.select_for_update().filter(pk__in=owned).order_by("pk"))
    team = _locked(pk)
    if Namespace.objects.filter(pk__in=owned).exclude(pk__in=[namespace.pk for namespace in locked]).exists():
        raise Conflict(
            f"Someone has just given the team {team} a namespace.", hint="Reload the page, and send it again."
        )
    return locked


def _keep_a_manager(leaving: Membership, actor: Viewer) -> None:
    if not leaving.is_manager or gate.operates(actor):
        return
    others = Membership.objects.filter(team=leaving.team_id, is_manager=True, user__is_active=True)
    if not others.exclude(pk=leaving.pk).exists():
        raise Conflict(
            "A team needs at least one manager, and this is the last one.", hint="Make someone else manager first."
        )


def _keep_owners(team: Team, owned: list[Namespace], whose: str) -> None:
    other = Grant.objects.active_owners().exclude(team=team).values("namespace")
    orphans = [namespace.name for namespace in owned if not other.filter(namespace=namespace).exists()]
    if orphans:
        raise Conflict(
            f"{whose} is the only owner of {', '.join(sorted(orphans))}.",
            hint="Transfer it to someone, or make someone else owner first.",
        )


def _check_description(description: str) -> None:
    if len(description) > 200:  # noqa: PLR2004  # the column's width
        raise Invalid("A description has at most 200 characters.", hint="Shorten it.")


def _record(kind: Kind, team: Team, actor: Viewer, **detail: object) -> None:
    actor.record(kind, subject=f"team/{team.name}", **detail)
