"""Verbs with which operators change an account (sign-in, rights, password, name), and what a person leaves behind."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group, Permission
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access import connections, contacts, epoch
from apps.accounts.access.connections import Connected
from apps.accounts.access.gate import Viewer, grants_of
from apps.accounts.identity import sessions
from apps.accounts.models import Grant, Invitation, Membership, Namespace, Role, Team, User
from apps.accounts.people import invitations
from apps.audit.kinds import Kind
from apps.lib.errors import Conflict, RoleRequired, existing

FLAGS = ("is_active", "is_staff", "is_superuser")
MOST_SUGGESTED = 200  # names


def user_named(name: str) -> User:
    """Return the active account of a person with that name. Raises NotFound."""
    wanted = name.strip().lower()
    user = None if "\0" in wanted else User.objects.filter(username=wanted, is_active=True, is_service=False).first()
    return existing(user, f"There is no user {name}.", hint="Check the spelling, or invite them.")


def known_to(viewer: Viewer) -> list[str]:
    """Names of active people who share a namespace or a team with the viewer, for forms to suggest."""
    people = _near(viewer).order_by("username").values_list("username", flat=True)
    return list(people.distinct()[:MOST_SUGGESTED])


def shown_to(viewer: Viewer) -> QuerySet[User]:
    """Return the active people whom the viewer may look up: `known_to` them, themselves, and all for staff."""
    if viewer.user is not None and viewer.user.is_staff:
        return User.objects.filter(is_active=True, is_service=False)
    return User.objects.filter(Q(pk__in=_near(viewer).values("pk")) | Q(pk=viewer.user_id))


def _near(viewer: Viewer) -> QuerySet[User]:
    if viewer.user is None:
        return User.objects.none()
    teams = Membership.objects.filter(user=viewer.user).values("team")
    spaces = grants_of(viewer.user).values("namespace")
    beside = Grant.objects.filter(namespace__in=spaces)
    near = Q(memberships__team__in=teams) | Q(pk__in=beside.filter(user__isnull=False).values("user"))
    near |= Q(memberships__team__in=beside.filter(team__isnull=False).values("team"))
    return User.objects.filter(near, is_active=True, is_service=False).exclude(pk=viewer.user.pk)


def account_named(name: str) -> User:
    """Return any account, of a person or a machine, deactivated or not, for staff. Raises NotFound."""
    user = None if "\0" in name else User.objects.filter(username=name).first()
    return existing(user, f"There is no account {name[:150]}.", hint="Check the spelling.")


@transaction.atomic
def change(
    *,
    user: User,
    actor: Viewer,
    is_active: bool,
    is_staff: bool,
    is_superuser: bool,
    permissions: Iterable[Permission] | None = None,
    roles: Iterable[Group] | None = None,
) -> list[Connected]:
    """Set an account's rights; None leaves permissions or roles as they are. Return what is left behind by it.

    Deactivation ends tokens, sessions and invitations at once. Raises RoleRequired (only superusers appoint or change
    operators) and Conflict (own account, or an erased one).
    """
    row = User.objects.select_for_update().get(pk=user.pk)
    wanted = {"is_active": is_active, "is_staff": is_staff, "is_superuser": is_superuser}
    changes = {flag: (getattr(row, flag), wanted[flag]) for flag in FLAGS if getattr(row, flag) != wanted[flag]}
    before = set(row.user_permissions.values_list("pk", flat=True))
    after = before if permissions is None else {permission.pk for permission in permissions}
    roles_before = set(row.groups.values_list("name", flat=True))
    roles_after = roles_before if roles is None else {role.name for role in roles}
    is_same = (before, roles_before) == (after, roles_after)
    if not changes and is_same:
        return []
    touches_operators = row.is_staff or row.is_superuser or bool({"is_staff", "is_superuser"} & changes.keys())
    if (touches_operators or not is_same) and not (actor.user and actor.user.is_superuser):
        raise RoleRequired(
            "Only a superuser can make someone an operator, or change one.", hint=contacts.ask_superuser()
        )
    if (changes or not is_same) and actor.user_id == row.pk:
        raise Conflict("You cannot change your own rights.", hint="Ask another superuser.")
    if row.is_service and (is_active or not is_same or changes.keys() != {"is_active"}):
        raise Conflict(
            "A service account has only its team's roles, and cannot be restored.",
            hint="You can deactivate it here; managers of the team create and delete it on the team's page.",
        )
    if row.is_erased:
        raise Conflict("This person was erased.", hint="Invite them again to give them a new account.")
    new = {flag: value for flag, (_, value) in changes.items()}
    with connections.watching(actor, users=[row.pk]) as left:  # owners by their own role, and operators
        if new:
            User.objects.filter(pk=row.pk).update(**new)
        if "is_active" in new and not is_active:
            lock_out(user=row, actor=actor)
        if before != after:
            row.user_permissions.set(after)
        if roles_before != roles_after:
            row.groups.set(Group.objects.filter(name__in=roles_after))
    actor.record(
        Kind.USER_CHANGED,
        subject=f"user/{row.pk}",
        changes={flag: list(pair) for flag, pair in changes.items()},
        permissions_given=sorted(after - before),
        permissions_taken=sorted(before - after),
        roles_given=sorted(roles_after - roles_before),
        roles_taken=sorted(roles_before - roles_after),
    )
    return left


@transaction.atomic
def set_active(*, user: User, actor: Viewer, is_active: bool) -> list[Connected]:
    """Deactivate or activate an account, as `change` does; its other rights stay."""
    row = User.objects.select_for_update().get(pk=user.pk)
    return change(user=row, actor=actor, is_active=is_active, is_staff=row.is_staff, is_superuser=row.is_superuser)


@transaction.atomic
def set_password(*, user: User, actor: Viewer, password: str) -> None:
    """Set a new password and end the sessions; tokens stay. Commands pass NOBODY as actor.

    Raises RoleRequired (only superusers change operators) and Conflict (own account, or an erased one).
    """
    row = User.objects.select_for_update().get(pk=user.pk)
    if (row.is_staff or row.is_superuser) and actor.user and not actor.user.is_superuser:
        raise RoleRequired("Only a superuser can set the password of an operator.", hint=contacts.ask_superuser())
    if actor.user_id == row.pk:
        raise Conflict("This is your own account.", hint="Change your password on your account page.")
    if row.is_service:
        raise Conflict("Service accounts cannot sign in.", hint="Create a token on its page.")
    if row.is_erased:
        raise Conflict("This person was erased.", hint="Invite them again to give them a new account.")
    row.set_password(password)
    row.save(update_fields=["password"])
    epoch.advance()  # a new password ends all sessions
    actor.record(Kind.PASSWORD_CHANGED, subject=f"user/{row.pk}")


@transaction.atomic
def rename(*, user: User, actor: Viewer, full_name: str) -> None:
    """Change a person's full name. The audit row, which outlives the person, does not contain it."""
    User.objects.filter(pk=user.pk).update(first_name=full_name, last_name="")
    actor.record(Kind.USER_CHANGED, subject=f"user/{user.pk}", changes={"full_name": "changed"})


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
