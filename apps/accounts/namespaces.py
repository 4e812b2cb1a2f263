"""Verbs on namespaces and the roles in them. The caller asks the gate first."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from zlib import crc32

from django.conf import settings
from django.db import IntegrityError, connection, transaction
from django.db.models import F, Q, QuerySet

from apps.accounts import namespace_deletion
from apps.accounts.access import connections, contacts
from apps.accounts.access.connections import Connected
from apps.accounts.access.gate import Viewer, highest_role, operates, visible_namespaces
from apps.accounts.access.operators import creator
from apps.accounts.access.people_only import people_only
from apps.accounts.models import BreakingChanges, Grant, Membership, Namespace, Role, Team, User, Visibility
from apps.accounts.people import service_accounts
from apps.audit.kinds import Kind
from apps.lib.addresses import canonical, check_namespace, skeleton
from apps.lib.errors import Conflict, Invalid, NotFound, RoleRequired

LONGEST_INTRODUCTION = 1_000  # the column's width
LONGEST_COOLDOWN_HOURS = 24 * 90
# Of PostgreSQL's advisory locks with two numbers; the second is the crc32 of a skeleton.
LOOK_LOCK = 0x4C6F6F6B
LARGEST_QUOTA = {"quota_bytes": 2**63 - 1, "quota_versions": 2**31 - 1}  # the columns' limits


def limits_of(namespace: Namespace) -> tuple[int, int]:
    """Bytes and versions that the namespace may hold; 0 is no limit."""
    own_bytes, own_versions = namespace.quota_bytes, namespace.quota_versions
    return (
        settings.NAMESPACE_MAX_BYTES if own_bytes is None else own_bytes,
        settings.NAMESPACE_MAX_VERSIONS if own_versions is None else own_versions,
    )


def create(
    *,
    name: str,
    visibility: str,
    actor: Viewer,
    description: str = "",
    introduction: str | None = None,
    breaking_changes: str | None = None,
    cooldown_hours: int | None = None,
) -> Namespace:
    """Create a namespace owned by its creator, or restore a deleted one with its former owners.

    A name that looks like an older one is for people with a role in that namespace and for operators.

    Raises Invalid, Conflict, CredentialsRequired or RoleRequired.
    """
    owner = creator(actor)
    check_namespace(name, reserved=settings.RESERVED_NAMES)
    _check(visibility, description, breaking_changes or BreakingChanges.WARN, cooldown_hours or 0)
    try:
        created = _create(name, visibility, description, owner, actor)
    except IntegrityError:
        again = namespace_deletion.revive(name=name, visibility=visibility, description=description, actor=actor)
        if again is None:
            raise _taken(name, actor) from None
        created = again
    more: dict[str, Any] = {"introduction": introduction, "breaking_changes": breaking_changes}
    more["cooldown_hours"] = cooldown_hours
    if any(value is not None for value in more.values()):
        change(namespace=created, actor=actor, **more)
    return created


@transaction.atomic
def _create(name: str, visibility: str, description: str, owner: User, actor: Viewer) -> Namespace:
    if connection.vendor == "postgresql":
        # One transaction at a time creates a name of this look: no constraint decides between `acme` and `acne`.
        # (On SQLite every transaction that writes waits for the others.)
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [LOOK_LOCK, crc32(skeleton(name).encode()) - 2**31])
    # No check before the insert: the unique constraints decide between two at once.
    namespace = Namespace.objects.create(
        name=name,
        canonical=canonical(name),
        skeleton=skeleton(name),
        visibility=visibility,
        description=description,
        created_by=owner,
    )
    alike = _look_alikes(namespace, owner, actor)
    Grant.objects.create(namespace=namespace, user=owner, role=Role.OWNER, given_by=owner)
    actor.record(
        Kind.NAMESPACE_CREATED,
        subject=name,
        visibility=visibility,
        owner=owner.pk,
        **{"looks_like": alike} if alike else {},
    )
    return namespace


def _look_alikes(namespace: Namespace, owner: User, actor: Viewer) -> list[int]:
    """Return the numbers of older namespaces whose names look like this one. Deleted ones count: their addresses are
    in use.

    Raises Conflict if the owner has no role in one of them, unless operators ask. A hidden one is named no more than
    for an equal name.
    """
    unfilled = Q(skeleton="")  # created by an older Larder beside this one
    rows: QuerySet[Any] = Namespace.including_deleted.filter(Q(skeleton=namespace.skeleton) | unfilled)
    rows = rows.exclude(pk=namespace.pk).annotate(held=highest_role(owner)).order_by("pk")
    alike = [row for row in rows if skeleton(row.name) == namespace.skeleton]
    if not operates(actor):
        for row in alike:
            if row.held is None and not (row.deleted_at and namespace_deletion.was_owner(row, owner)):
                raise _taken(namespace.name, actor, by=row)
    return [row.pk for row in alike]


def _taken(name: str, actor: Viewer, by: Namespace | None = None) -> Conflict:
    """`by` is the namespace whose name looks alike; by default the one whose name is equal."""
    same = Q(canonical=canonical(name)) if by is None else Q(pk=by.pk)
    existing = visible_namespaces(actor).filter(same).first()
    if existing is None:
        return Conflict(f"The name {name} is taken.", hint="Choose another name, or ask an operator who owns it.")
    if by is not None:
        return Conflict(
            f"The name {name} looks like {existing.name}, which exists.",
            hint="Choose a more distinct name, or ask an operator to create it for you.",
        )
    if existing.name == name:
        return Conflict(f"The namespace {name} already exists.", hint="Open it, or choose another name.")
    return Conflict(f"{name} is too close to {existing.name}, which exists.", hint="Choose a more distinct name.")


@transaction.atomic
def change(
    *,
    namespace: Namespace,
    actor: Viewer,
    visibility: str | None = None,
    description: str | None = None,
    introduction: str | None = None,
    breaking_changes: str | None = None,
    cooldown_hours: int | None = None,
) -> None:
    """Change the given fields; None leaves one as it is. Raises Invalid.

    The cool-down is for releases that are published from now on: those that are published keep their dates.
    """
    row = Namespace.objects.select_for_update().get(pk=namespace.pk)
    wanted = {
        "visibility": visibility,
        "description": description,
        "introduction": introduction,
        "breaking_changes": breaking_changes,
        "cooldown_hours": cooldown_hours,
    }
    _check(
        visibility or row.visibility, description or "", breaking_changes or row.breaking_changes, cooldown_hours or 0
    )
    if len(introduction or "") > LONGEST_INTRODUCTION:
        raise Invalid(
            f"An introduction has at most {LONGEST_INTRODUCTION:,} characters.", hint="Shorten it, or link to a page."
        )
    given = {field: value for field, value in wanted.items() if value is not None}
    _update(namespace, row, given, Kind.NAMESPACE_CHANGED, actor)


def _update(namespace: Namespace, row: Namespace, wanted: Mapping[str, Any], kind: Kind, actor: Viewer) -> None:
    """Write the fields that differ from the locked `row`, there and in `namespace`, and record both values of each."""
    changes = {field: [getattr(row, field), value] for field, value in wanted.items() if value != getattr(row, field)}
    if not changes:
        return
    Namespace.objects.filter(pk=row.pk).update(**{field: wanted[field] for field in changes})
    for field in changes:
        setattr(namespace, field, wanted[field])
    actor.record(kind, subject=row.name, changes=changes)


@people_only("change who publishes")
@transaction.atomic
def require_trusted_publishers(*, namespace: Namespace, required: bool, actor: Viewer) -> None:
    """Let only trusted publishers publish, or everyone with the role. What was received before is published."""
    row = _locked(namespace)
    _update(namespace, row, {"trusted_publishers_only": required}, Kind.NAMESPACE_CHANGED, actor)


@people_only("change who approves releases")
@transaction.atomic
def require_approval(
    *,
    namespace: Namespace,
    actor: Viewer,
    requires_approval: bool | None = None,
    approval_needs_second_factor: bool | None = None,
    approval_needs_two_people: bool | None = None,
) -> None:
    """Let someone who took no part in it approve each release, perhaps with a second factor, and those from Git or CI
    two people; None changes nothing.

    Releases that await approval already keep waiting for as many people as before, whatever is set. Raises Conflict:
    where operators require two people, an owner who switches it off would publish alone, so that takes an operator.
    """
    row = _locked(namespace)
    is_switched_off = row.requires_approval and requires_approval is False
    if is_switched_off and settings.APPROVALS_NEED_TWO_PEOPLE and not operates(actor):
        raise Conflict(
            "Operators require two people to approve here, so an owner cannot switch approval off alone.",
            hint="Ask an operator to switch it off.",
        )
    wanted = {
        "requires_approval": requires_approval,
        "approval_needs_second_factor": approval_needs_second_factor,
        "approval_needs_two_people": approval_needs_two_people,
    }
    given = {field: value for field, value in wanted.items() if value is not None}
    _update(namespace, row, given, Kind.NAMESPACE_CHANGED, actor)


@transaction.atomic
def set_quotas(*, namespace: Namespace, actor: Viewer, **quotas: int | None) -> None:
    """Set `quota_bytes`, `quota_versions` or both; None is the registry's default, 0 no limit.

    Raises RoleRequired (staff only) and Invalid.
    """
    if actor.user is None or not actor.user.is_staff:
        raise RoleRequired("Only operators set the quotas of a namespace.", hint=contacts.ask_operator())
    for field, value in quotas.items():
        if field not in LARGEST_QUOTA:
            raise Invalid(f"There is no quota {field!r}.", hint=f"Quotas are {', '.join(LARGEST_QUOTA)}.")
        if value is not None and not 0 <= value <= LARGEST_QUOTA[field]:
            raise Invalid(
                f"{field} is from 0 (no limit) to {LARGEST_QUOTA[field]:,}, or empty for the default; found {value:,}.",
                hint="Choose another number.",
            )
    _update(namespace, _locked(namespace), quotas, Kind.NAMESPACE_QUOTA_CHANGED, actor)


@people_only("change roles")
@transaction.atomic
def grant(*, namespace: Namespace, grantee: User | Team, role: Role, actor: Viewer) -> Grant:
    """Give a person or team the role, replacing the one they have. Raises Conflict if no owner would be left.

    Raises Invalid for a service account.
    """
    service_accounts.refuse_direct_role(grantee if isinstance(grantee, User) else None)
    _locked(namespace)  # so that two owners who demote each other take turns
    who = _grantee_filter(grantee)
    existing = Grant.objects.filter(namespace=namespace, **who).first()
    if existing and existing.role == role:
        return existing
    if existing and existing.role == Role.OWNER:
        _keep_an_owner(existing)
    with _watching(existing, actor):
        given = _give(namespace, who, role, actor)
        actor.record(
            Kind.GRANT_GIVEN,
            subject=namespace.name,
            **_named(given),
            role=_word(role),
            before=_word(existing.role) if existing else "",
        )
    return given


@people_only("change roles")
@transaction.atomic
def withdraw(*, grant: Grant, actor: Viewer) -> list[Connected]:
    """Take a role away; return what is left behind by it. Safe to repeat. Raises Conflict if no owner would be left."""
    namespace = _locked(grant.namespace)
    existing = Grant.objects.select_related("team").filter(pk=grant.pk).first()
    if existing is None:
        return []
    if existing.role == Role.OWNER:
        _keep_an_owner(existing)
    with _watching(existing, actor) as left:
        Grant.objects.filter(pk=existing.pk).delete()
        actor.record(Kind.GRANT_WITHDRAWN, subject=namespace.name, **_named(existing), role=_word(existing.role))
    return left


@people_only("transfer a namespace")
@transaction.atomic
def transfer(
    *, namespace: Namespace, to: User | Team, actor: Viewer, giver: Grant | None = None, keep_publisher: bool = False
) -> Grant:
    """Make `to` an owner; the owner `giver` loses the role or stays as publisher.

    Without a giver no account loses a role: staff hand on a namespace that was left behind. What people connected who
    are no owners then is suspended, until an owner confirms it. Raises Conflict and Invalid.
    """
    _locked(namespace)
    who = _grantee_filter(to)
    before = Grant.objects.select_related("team").filter(pk=giver.pk, namespace=namespace).first() if giver else None
    if giver and (before is None or before.role != Role.OWNER):
        raise Conflict("The owner to replace is no longer an owner.", hint="See the tab People, and start again.")
    if before and _named(before) == _named(Grant(namespace=namespace, **who)):
        raise Conflict(f"{to} owns {namespace} already.", hint="Choose someone else.")
    given = _give(namespace, who, Role.OWNER, actor)
    if not Grant.objects.active_owners().filter(pk=given.pk).exists():
        raise Invalid(f"{to} has no active member.", hint="Choose someone with an active account.")
    if before and keep_publisher:
        Grant.objects.filter(pk=before.pk).update(role=Role.PUBLISHER, given_by=actor.user)
    elif before:
        Grant.objects.filter(pk=before.pk).delete()
    actor.record(
        Kind.NAMESPACE_TRANSFERRED,
        subject=namespace.name,
        to=_named(given),
        giver=_named(before) if before else {},
        kept="publisher" if before and keep_publisher else "",
    )
    connections.suspend_left_behind(namespace=namespace, actor=actor, reason=connections.TRANSFERRED)
    return given


def _watching(before: Grant | None, actor: Viewer) -> AbstractContextManager[list[Connected]]:
    """Record what an owner, or members of a team of owners, leave behind; others answer for nothing here."""
    if before is None or before.role != Role.OWNER:
        return nullcontext([])
    return connections.watching(actor, namespaces=[before.namespace_id])


def grants_in(namespace: Namespace) -> QuerySet[Grant]:
    return grants().filter(namespace=namespace).select_related("user", "team")


def grants() -> QuerySet[Grant]:
    """Return all but those of machines of connections, owners first, then teams. (Databases sort NULL differently.)"""
    rows = Grant.objects.filter(**{f"user__{name}": None for name in connections.machine_names()})
    return rows.order_by("-role", F("team__name").asc(nulls_last=True), "user__username", "pk")


def own_grant(namespace: Namespace, viewer: Viewer) -> Grant | None:
    """Return the viewer's own grant as owner, which a transfer would take; not that of their teams."""
    if viewer.user is None:
        return None
    return Grant.objects.filter(namespace=namespace, user=viewer.user, role=Role.OWNER).first()


def people_count(namespace: Namespace) -> int:
    """Count the active people with a role, direct or through a team."""
    own = Grant.objects.filter(namespace=namespace)
    by_team = Membership.objects.filter(team__in=own.values("team"))
    active = User.objects.filter(is_active=True, is_service=False)
    return active.filter(Q(pk__in=own.values("user")) | Q(pk__in=by_team.values("user"))).count()


def _locked(namespace: Namespace) -> Namespace:
    """Return the current row, locked: others who change this namespace's roles wait."""
    return Namespace.objects.select_for_update().get(pk=namespace.pk)


def _grantee_filter(grantee: User | Team) -> dict[str, Any]:
    """Return the field and value for queries; lock a team's row, always after the namespace's, so that it stays."""
    if isinstance(grantee, User):
        return {"user": grantee}
    team = Team.objects.select_for_update().filter(pk=grantee.pk).first()
    if team is None:
        raise NotFound(f"The team {grantee} was deleted.", hint="The teams page has the list.")
    return {"team": team}


def _give(namespace: Namespace, who: Mapping[str, Any], role: Role, actor: Viewer) -> Grant:
    values = {"role": role, "given_by": actor.user, "created_by_token": actor.token}
    return Grant.objects.update_or_create(namespace=namespace, **who, defaults=values)[0]


def _named(grant: Grant) -> dict[str, Any]:
    """Return the grantee for the audit: a person by number, so that they can be erased, a team by name."""
    return {"team": grant.team.name} if grant.team else {"user": grant.user_id}


def _word(role: int) -> str:
    return Role(role).label.lower()


def _keep_an_owner(leaving: Grant) -> None:
    others = Grant.objects.active_owners().filter(namespace=leaving.namespace_id)
    if not others.exclude(pk=leaving.pk).exists():
        raise Conflict(
            "A namespace needs at least one owner, and this is the last one.", hint="Make someone else owner first."
        )


def _check(visibility: str, description: str, breaking_changes: str, cooldown_hours: int) -> None:
    if not 0 <= cooldown_hours <= LONGEST_COOLDOWN_HOURS:
        raise Invalid(
            f"The cool-down is {cooldown_hours} hours, expected 0 to {LONGEST_COOLDOWN_HOURS}.",
            hint="0 shows a release to clients at once.",
        )
    if breaking_changes not in BreakingChanges.values:
        raise Invalid(
            f"There is no rule {breaking_changes!r} for breaking changes.",
            hint=f"Use one of {', '.join(BreakingChanges.values)}.",
        )
    if visibility not in Visibility.values:
        raise Invalid(f"There is no visibility {visibility!r}.", hint=f"Use one of {', '.join(Visibility.values)}.")
    if len(description) > 200:  # noqa: PLR2004  # the column's width
        raise Invalid("A description has at most 200 characters.", hint="Put details in the README of the module.")
