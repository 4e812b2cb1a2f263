"""Teams and staff roles from groups of identity providers: the table in the admin, and its effect at a sign-in.

Roles that were given by hand are left alone. Only what a mapping gave (`GroupAssignment`) ends with the group.
"""

from collections.abc import Iterable
from contextlib import nullcontext

from django.contrib.auth.models import Group
from django.db import transaction

from apps.accounts.access import connections, contacts
from apps.accounts.access.gate import NOBODY, Viewer
from apps.accounts.models import GroupAssignment, GroupMapping, Membership, StaffRole, User
from apps.accounts.people import teams
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.errors import RoleRequired

_BY = "sign-on"


@transaction.atomic
def apply(*, user: User, issuer: str, groups: Iterable[str]) -> None:
    """Give the person what these groups of the issuer give, and take away what only other groups gave."""
    row = User.objects.select_for_update().get(pk=user.pk)
    mappings = list(GroupMapping.objects.filter(issuer=issuer, group__in=list(groups)).select_related("team"))
    assigned = GroupAssignment.objects.filter(user=row, issuer=issuer)
    wanted = {mapping.team_id: mapping.team for mapping in mappings if mapping.team is not None}
    has = {one.team_id: one for one in assigned.filter(team__isnull=False).select_related("team")}
    for team_id in sorted(has.keys() - wanted.keys(), key=str):
        assignment = has[team_id]
        membership = Membership.objects.filter(user=row, team=assignment.team_id).select_related("team").first()
        elsewhere = GroupAssignment.objects.filter(user=row, team=assignment.team_id).exclude(pk=assignment.pk)
        if membership is not None and not elsewhere.exists():
            teams.end_membership(membership=membership, actor=NOBODY, by=_BY, issuer=issuer)
        assignment.delete()
    for team_id in sorted(wanted.keys(), key=str):
        if not Membership.objects.filter(user=row, team=team_id).exists():  # by an earlier sign-in, or by hand
            teams.add(team=wanted[team_id], user=row, actor=NOBODY)
            if team_id not in has:
                GroupAssignment.objects.create(user=row, issuer=issuer, team=wanted[team_id])
    roles = {mapping.staff_role for mapping in mappings if mapping.staff_role}
    role = next((one for one in (StaffRole.OPERATOR, StaffRole.AUDITOR) if one in roles), None)
    staff = assigned.filter(team=None).first()
    # Who had no role of staff by a group loses none.
    with connections.watching(NOBODY, users=[row.pk]) if staff is not None else nullcontext():
        _set_staff_role(row, staff, role, issuer)


@transaction.atomic
def map_group(*, mapping: GroupMapping, actor: Viewer) -> None:
    """Add a row to the table. Raises RoleRequired: a mapping can make staff, which only superusers do."""
    _require_superuser(actor)
    mapping.created_by = actor.user
    mapping.save()
    _record(Kind.GROUP_MAPPED, mapping, actor)


@transaction.atomic
def unmap_group(*, mapping: GroupMapping, actor: Viewer) -> None:
    """Remove a row; people lose what it gave at their next sign-in. Raises RoleRequired."""
    _require_superuser(actor)
    _record(Kind.GROUP_UNMAPPED, mapping, actor)
    mapping.delete()


def _require_superuser(actor: Viewer) -> None:
    if not (actor.user and actor.user.is_superuser):
        raise RoleRequired("Only a superuser can map groups.", hint=contacts.ask_superuser())


def _record(kind: Kind, mapping: GroupMapping, actor: Viewer) -> None:
    record(
        kind,
        actor_id=actor.user_id,
        subject=f"group/{mapping.group}"[:300],
        issuer=mapping.issuer,
        team=mapping.team.name if mapping.team else "",
        staff_role=mapping.staff_role,
    )


def _set_staff_role(user: User, assignment: GroupAssignment | None, role: StaffRole | None, issuer: str) -> None:
    """Set or end the staff role that groups give; superusers are left alone, and so is a role that was given by
    hand.
    """
    before = StaffRole(assignment.staff_role) if assignment else None
    if before == role and (role is None or user.is_staff):
        return
    was_staff, roles_before = user.is_staff, set(user.groups.values_list("name", flat=True))
    made_staff = assignment.made_staff if assignment else False
    if assignment is not None:
        assignment.delete()
        if not GroupAssignment.objects.filter(user=user, staff_role=assignment.staff_role).exists():
            user.groups.remove(*Group.objects.filter(name=assignment.staff_role))
    if role is None:
        others = GroupAssignment.objects.filter(user=user, team=None)
        if made_staff and not user.is_superuser and not others.update(made_staff=True):
            user.is_staff = False
    elif not user.is_superuser and not user.groups.filter(name=role).exists():
        made_staff = made_staff or not user.is_staff
        user.is_staff = True
        user.groups.add(Group.objects.get(name=role))
        GroupAssignment.objects.create(user=user, issuer=issuer, staff_role=role, made_staff=made_staff)
    User.objects.filter(pk=user.pk).update(is_staff=user.is_staff)
    roles_after = set(user.groups.values_list("name", flat=True))
    if (was_staff, roles_before) == (user.is_staff, roles_after):
        return
    record(
        Kind.USER_CHANGED,
        actor_id=None,
        subject=f"user/{user.pk}",
        changes={"is_staff": [was_staff, user.is_staff]} if was_staff != user.is_staff else {},
        roles_given=sorted(roles_after - roles_before),
        roles_taken=sorted(roles_before - roles_after),
        by=_BY,
        issuer=issuer,
    )
