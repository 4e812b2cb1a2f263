"""Delete empty namespaces.

The name stays taken and only its last owners can have it again: others could publish different things under addresses
that people still use. The numbers of purged versions stay taken, too.
"""

from collections.abc import Callable, Iterable

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from apps.accounts.access import connections, operators
from apps.accounts.access.gate import Viewer, operates
from apps.accounts.access.people_only import people_only
from apps.accounts.models import Grant, Invitation, Membership, Namespace, Role, Team, User, Visibility
from apps.accounts.people import invitations
from apps.audit.kinds import Kind
from apps.lib.errors import Conflict

# Describes what its room has in the namespace, such as "2 versions"; empty for nothing.
Contents = Callable[[Namespace], str]
contents_checks: tuple[Contents, ...] = ()  # by registry_site/wiring.py
# End what rooms above have in it; also by registry_site/wiring.py. Called as `end(namespace=…, actor=…)`.
endings: tuple[Callable[..., None], ...] = ()
PERMISSION = "accounts.delete_namespace"


def contents_of(namespace: Namespace) -> list[str]:
    return [found for contents in contents_checks if (found := contents(namespace))]


@people_only("delete a namespace")
def delete(*, namespace: Namespace, actor: Viewer) -> None:
    """Delete an empty namespace with its grants, open invitations and trusted publishers. Safe to repeat.

    The caller checks the role of owners. Raises Conflict with what is in it, and RoleRequired for staff who are no
    owners and lack the permission.
    """
    operators.require_permission(actor, namespace, PERMISSION, unless=Role.OWNER)
    with transaction.atomic():  # the audit row of a refusal stays
        # Reserving a version locks the row as well, and checks that it still exists.
        row = Namespace.objects.select_for_update().filter(pk=namespace.pk).first()
        if row is None:
            return
        if found := contents_of(row):
            raise Conflict(
                f"{row} is not empty: it contains {' and '.join(found)}.",
                hint="Only an empty namespace can be deleted. Cancel releases in progress; staff can purge versions.",
            )
        held = Grant.objects.filter(namespace=row)
        owners = held.filter(role=Role.OWNER)
        former = {
            "users": sorted(owners.exclude(user=None).values_list("user", flat=True)),
            "teams": sorted(owners.exclude(team=None).values_list("team", flat=True)),
        }
        for invitation in Invitation.objects.filter(namespace=row, used_at=None, revoked_at=None):
            invitations.revoke(invitation=invitation, actor=actor)
        for end in endings:
            end(namespace=row, actor=actor)
        held.delete()
        Namespace.objects.filter(pk=row.pk).update(
            deleted_at=timezone.now(), former_owners=former, visibility=Visibility.PRIVATE
        )
        actor.record(Kind.NAMESPACE_DELETED, subject=row.name, visibility=row.visibility, former_owners=former)


@transaction.atomic
def revive(*, name: str, visibility: str, description: str, actor: Viewer) -> Namespace | None:
    """Restore the deleted namespace with its former owners, for one of them or for staff.

    None if there is no such name, it was not the actor's, or no former owner is active.
    """
    row = Namespace.including_deleted.select_for_update().exclude(deleted_at=None).filter(name=name).first()
    if row is None or actor.user is None:
        return None
    people, teams = _former_owners(row)
    if not (operates(actor) or _is_one(actor.user, people, teams)) or not (people or teams):
        return None
    row.deleted_at, row.former_owners, row.visibility, row.description = None, None, visibility, description
    row.save(update_fields=["deleted_at", "former_owners", "visibility", "description"])
    grants = [*(Grant(user=one) for one in people), *(Grant(team=one) for one in teams)]
    for grant in grants:
        grant.namespace, grant.role, grant.given_by = row, Role.OWNER, actor.user
    Grant.objects.bulk_create(grants)
    actor.record(
        Kind.NAMESPACE_CREATED,
        subject=row.name,
        visibility=visibility,
        again=True,
        owners={"users": [one.pk for one in people], "teams": [one.pk for one in teams]},
    )
    connections.suspend_left_behind(namespace=row, actor=actor, reason=connections.CREATED_AGAIN)
    return row


def was_owner(namespace: Namespace, user: User) -> bool:
    """Return whether the person, or one of their teams, owned the namespace when it was deleted."""
    return _is_one(user, *_former_owners(namespace))


def _former_owners(row: Namespace) -> tuple[QuerySet[User], QuerySet[Team]]:
    """Return the people and teams with an active member that owned a deleted namespace."""
    former: dict[str, list[int]] = row.former_owners or {"users": [], "teams": []}
    people = User.objects.filter(pk__in=former["users"], is_active=True, is_service=False)
    active = Q(memberships__user__is_active=True, memberships__user__is_service=False)
    return people, Team.objects.filter(active, pk__in=former["teams"]).distinct()


def _is_one(user: User, people: Iterable[User], teams: Iterable[Team]) -> bool:
    return user in people or Membership.objects.filter(user=user, team__in=[team.pk for team in teams]).exists()
