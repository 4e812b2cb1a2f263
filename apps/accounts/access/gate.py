"""The gate: who sees a namespace, and with which role (D8). No room above queries namespaces by name."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from apps.accounts.access import contacts
from apps.accounts.models import (
    ApiToken,
    Grant,
    Membership,
    Namespace,
    NamespaceQuerySet,
    Role,
    Scope,
    Team,
    TeamQuerySet,
    User,
    Visibility,
)
from apps.audit.kinds import Kind
from apps.audit.recorder import record
from apps.lib.addresses import canonical
from apps.lib.errors import CredentialsRequired, NotFound, RoleRequired, UnknownOrPrivate


@dataclass(frozen=True, slots=True)
class Viewer:
    """The person behind a request, by session or token; anonymous without a user."""

    user: User | None = None
    token: ApiToken | None = None
    session: str = ""  # digest of the browser's session; long work ends with it

    @property
    def is_identified(self) -> bool:
        return self.user is not None

    @property
    def user_id(self) -> int | None:
        return self.user.pk if self.user else None

    @property
    def token_id(self) -> int | None:
        return self.token.pk if self.token else None

    def record(self, kind: Kind, *, subject: str, **detail: Any) -> None:
        """Append an event to the audit: what this viewer did or was refused."""
        record(kind, actor_id=self.user_id, token_id=self.token_id, subject=subject, **detail)


NOBODY = Viewer()
# Normalises names of namespaces before they are compared.
Spelled = Callable[[str], str]
# Staff with this permission act as owner in every namespace. Other staff read everywhere, and have what is granted.
OPERATE = contacts.OPERATE
# Matches every row, by the constraint on the column. (An empty Q would vanish from an OR.)
_EVERYWHERE = Q(visibility__in=Visibility.values)


@dataclass(frozen=True, slots=True)
class Standing:
    """A viewer's roles in one namespace: `own` as a person, `role` within the token's limits; `limit` names these."""

    own: Role | None
    role: Role | None
    limit: str = ""


def operates(viewer: Viewer, permission: str = OPERATE) -> bool:
    """Return whether the viewer is staff who may act as owner everywhere, by OPERATE or by this permission."""
    user = viewer.user
    if user is None or not user.is_staff:
        return False
    return user.has_perm(OPERATE) or (permission != OPERATE and user.has_perm(permission))


def role_on(viewer: Viewer, namespace: Namespace, *, only_name: str = "") -> Role | None:
    """Return the viewer's role in the namespace, None if they do not see it.

    `only_name` is what they want to publish (`vpc/aws`), for tokens that are limited to one name.
    """
    looked = _find(viewer, _BY_ID, namespace.pk, only_name, operates=operates(viewer))
    return looked[1].role if looked else None


def visible_namespaces(viewer: Viewer) -> NamespaceQuerySet:
    """Return the namespaces where `role_on` is at least reader, as one query."""
    public = Q(visibility=Visibility.PUBLIC)
    if viewer.user is None:
        return Namespace.objects.filter(public)
    return Namespace.objects.filter(
        public | (_granted(viewer, Role.READER) | Q(visibility=Visibility.INTERNAL)) & _covers(viewer)
    )


def namespaces_with_role(viewer: Viewer, need: Role) -> NamespaceQuerySet:
    """Return the namespaces where the viewer is at least publisher or owner, ignoring a token's `only_name`."""
    if viewer.user is None or (viewer.token and not Scope(viewer.token.scope).role.covers(need)):
        return Namespace.objects.none()
    return Namespace.objects.filter(_granted(viewer, need) & _covers(viewer))


def readers_among(people: QuerySet[User], namespace: Namespace) -> QuerySet[User]:
    """Return those whose `role_on` the namespace is at least reader, as one query."""
    if namespace.visibility != Visibility.PRIVATE:
        return people
    grants = Grant.objects.filter(namespace=namespace)
    members = Membership.objects.filter(team__in=grants.filter(team__isnull=False).values("team"))
    granted = Q(pk__in=grants.filter(user__isnull=False).values("user")) | Q(pk__in=members.values("user"))
    return people.filter(Q(is_staff=True) | granted)


def grants_of(user: User | None) -> QuerySet[Grant]:
    """Return the grants of a person and their teams. (`user=None` would match grants of teams.)"""
    if user is None:
        return Grant.objects.none()
    teams = Membership.objects.filter(user=user.pk).values("team")
    # Not one condition with an OR: a planner takes it for half of all grants, and reads what these may open whole.
    own, theirs = Grant.objects.filter(user=user.pk), Grant.objects.filter(team__in=teams)
    return Grant.objects.filter(pk__in=own.values("pk").union(theirs.values("pk")))


def highest_role(user: User | None) -> Subquery:
    """Return a column for querysets of namespaces: the person's highest role, direct or through a team."""
    grants = grants_of(user).filter(namespace=OuterRef("pk"))
    return Subquery(grants.order_by("-role", "pk").values("role")[:1])


def people_with(least: Role, namespaces: Iterable[str]) -> QuerySet[User]:
    """Return the active people who have at least that role in one of the namespaces, themselves or by a team."""
    grants = Grant.objects.filter(namespace__name__in=set(namespaces), role__gte=least)
    members = Membership.objects.filter(team__in=grants.values("team"))
    granted = Q(pk__in=grants.values("user")) | Q(pk__in=members.values("user"))
    return User.objects.filter(granted, is_active=True, is_service=False)


def namespace_for(
    viewer: Viewer,
    name: str,
    *,
    need: Role = Role.READER,
    only_name: str = "",
    permission: str = OPERATE,
    spelled: Spelled = str,
) -> Namespace:
    """Return the namespace of `namespace_and_role`."""
    return namespace_and_role(viewer, name, need=need, only_name=only_name, permission=permission, spelled=spelled)[0]


def namespace_and_role(
    viewer: Viewer,
    name: str,
    *,
    need: Role = Role.READER,
    only_name: str = "",
    permission: str = OPERATE,
    spelled: Spelled = str,
) -> tuple[Namespace, Role]:
    """Return the namespace and the viewer's role in it, at least `need`. Staff with `permission` count as owners.

    `spelled` normalises names before they are compared: `str` requires the registered spelling, `str.lower` ignores
    letter case (OCI), `canonical` also the difference of `-` and `_` (sources of providers).

    Raises CredentialsRequired (not signed in; the same text for hidden and missing), NotFound (hidden or missing; the
    same text for both, except that a visible one in another spelling gets the right spelling) or RoleRequired (role
    missing).
    """
    # PostgreSQL raises on a NUL byte, and no namespace has one.
    operating = operates(viewer, permission)
    looked = None if "\0" in name else _find(viewer, _BY_CANONICAL, canonical(name), only_name, operates=operating)
    if looked and spelled(looked[0].name) != spelled(name):
        if looked[1].role is not None:
            raise NotFound(
                f"There is no namespace {name!r} that you can see.",
                hint=f"Did you mean {looked[0].name!r}? Clients distinguish capitals, - and _.",
            )
        looked = None
    if looked and looked[1].role and looked[1].role.covers(need):
        return looked[0], looked[1].role
    if not viewer.is_identified:
        if need == Role.READER and Namespace.objects.filter(visibility=Visibility.PUBLIC).exists():
            raise UnknownOrPrivate
        raise CredentialsRequired(
            "This needs credentials. Without them you can read only public namespaces.",
            hint="Sign in, or send an API token.",
        )
    standing = looked[1] if looked else Standing(own=None, role=None)
    if need > Role.READER:
        _record_refusal(viewer, name, need, standing)
    if standing.role is None:
        raise NotFound(
            f"There is no namespace {name!r} that you can see.",
            hint="Check the spelling, or ask one of its owners for a role in it.",
        )
    assert looked is not None  # noqa: S101  # there is a role only where there is a namespace
    raise _role_required(looked[0], need, standing)


def visible_teams(viewer: Viewer) -> TeamQuerySet:
    """Return the viewer's teams and those with a role in a namespace that they own; all for staff.

    A token that is limited to namespaces or to a name sees no team: it is for publishing.
    """
    if viewer.user is None or (viewer.token and (viewer.token.is_limited or viewer.token.only_name)):
        return Team.objects.none()
    if viewer.user.is_staff:
        return Team.objects.all()
    own = Membership.objects.filter(user=viewer.user.pk).values("team")
    holding = Grant.objects.filter(namespace__in=namespaces_with_role(viewer, Role.OWNER), team__isnull=False)
    return Team.objects.filter(Q(pk__in=own) | Q(pk__in=holding.values("team")))


def may_manage(viewer: Viewer, team: Team) -> bool:
    """Return whether the viewer may change the team: its managers and staff; a token needs the scope manage."""
    if viewer.user is None or (viewer.token and viewer.token.scope != Scope.MANAGE):
        return False
    return operates(viewer) or team.memberships.filter(user=viewer.user, is_manager=True).exists()


def team_for(viewer: Viewer, name: str, *, manage: bool = False) -> Team:
    """Return the team if the viewer sees it, and with `manage` if they may change it.

    Raises CredentialsRequired, NotFound (hidden or missing; the same text for both) or RoleRequired.
    """
    if not viewer.is_identified:
        raise CredentialsRequired("Teams need credentials.", hint="Sign in, or send an API token.")
    team = None if "\0" in name else visible_teams(viewer).filter(name=name).first()
    if team is not None and (not manage or may_manage(viewer, team)):
        return team
    if manage:
        viewer.record(
            Kind.PERMISSION_REFUSED,
            subject=f"team/{name}"[:300],
            needed="manager",
            held="" if team is None else "member",
        )
    if team is None:
        raise NotFound(
            f"There is no team {name!r} that you can see.", hint="Check the spelling, or ask one of its managers."
        )
    managers = team.memberships.filter(is_manager=True, user__is_active=True).order_by("user__username")
    names = list(managers.values_list("user__username", flat=True))
    raise RoleRequired(
        f"Only managers of the team {name} can do this, in a browser or with a token of scope manage.",
        hint=f"Ask a manager of {name}: {contacts.named(names)}." if names else contacts.ask_operator(),
    )


def person_for(viewer: Viewer) -> User:
    """Return who asks about their own account and tokens: a token needs the scope manage and no limits.

    Raises CredentialsRequired or RoleRequired.
    """
    if viewer.user is None:
        raise CredentialsRequired("Your account needs credentials.", hint="Sign in, or send an API token.")
    token = viewer.token
    if token is not None and (token.scope != Scope.MANAGE or token.is_limited or token.only_name):
        details = {"needed": "manage", "held": f"a token of scope {token.scope}"}
        record(Kind.PERMISSION_REFUSED, actor_id=viewer.user_id, token_id=token.pk, subject="account", **details)
        raise RoleRequired(
            "Managing your account and its tokens needs a token with the scope manage and no limits.",
            hint="Use such a token, or the account page.",
        )
    return viewer.user


# Every request asks this. Written as SQL, because Django needs ten times as long to write such a query down as the
# database needs to answer it. A missing namespace is a row of NULLs, and so is a hidden one: making an object of a row
# takes 0.1 ms, and would tell them apart. Grants are looked for by their owner (in SQLite a CROSS JOIN keeps order), so
# that those of others cost nothing.
_ONE_NAMESPACE = """
    SELECT namespace.*, asked.granted, asked.is_listed
    FROM (
        SELECT named.id, named.visibility, (
            SELECT MAX(held.role) FROM (
                SELECT role FROM accounts_grant WHERE user_id = %(user)s AND namespace_id = COALESCE(named.id, 0)
                UNION ALL
                SELECT role FROM accounts_membership AS membership CROSS JOIN accounts_grant AS grants
                WHERE membership.user_id = %(user)s
                    AND grants.team_id = membership.team_id AND grants.namespace_id = COALESCE(named.id, 0)
            ) AS held
        ) AS granted, EXISTS (
            SELECT 1 FROM accounts_apitoken_namespaces AS listed
            WHERE listed.namespace_id = COALESCE(named.id, 0) AND listed.apitoken_id = %(token)s
        ) AS is_listed
        FROM (SELECT 1) AS one LEFT JOIN accounts_namespace AS named ON named.deleted_at IS NULL AND {column} = %(key)s
        LIMIT 1
    ) AS asked LEFT JOIN accounts_namespace AS namespace ON namespace.id = asked.id AND (
        asked.visibility = 'public'
        OR (%(everywhere)s = 1 OR asked.is_listed)
        AND (%(sees_all)s = 1 OR asked.granted > 0 OR %(user)s <> 0 AND asked.visibility = 'internal')
    )
"""
_BY_CANONICAL, _BY_ID = (
    " ".join(_ONE_NAMESPACE.format(column=f"named.{name}").split()) for name in ("canonical", "id")
)


def _find(
    viewer: Viewer, question: str, key: str | int, only_name: str, *, operates: bool
) -> tuple[Namespace, Standing] | None:
    """The one namespace with the viewer's standing in it, in one query (lists of versions have a budget).

    None if it is missing or hidden: the query knows who sees a namespace, so that both take the same time.
    """
    covers_all = viewer.token is None or not viewer.token.is_limited
    values = {
        "key": key,
        "user": viewer.user_id or 0,
        "token": viewer.token_id or 0,
        "everywhere": int(covers_all),
        "sees_all": int(operates or (viewer.user is not None and viewer.user.is_staff)),
    }
    found: Any = next(iter(Namespace.objects.raw(question, values)))
    if found.pk is None:
        return None
    granted = Role.OWNER if operates else found.granted
    return found, _standing(
        viewer, found.visibility, granted, covered=covers_all or bool(found.is_listed), only_name=only_name
    )


def _standing(viewer: Viewer, visibility: str, granted: int | None, *, covered: bool, only_name: str) -> Standing:
    anybody = Role.READER if visibility == Visibility.PUBLIC else None
    if viewer.user is None:
        return Standing(anybody, anybody)
    if granted is not None:
        own: Role | None = Role(granted)
    else:
        own = None if visibility == Visibility.PRIVATE and not viewer.user.is_staff else Role.READER
    token = viewer.token
    if token is None or own is None:
        return Standing(own, own)
    if not covered:
        return Standing(own, anybody, "is limited to other namespaces")
    cap = Scope(token.scope).role
    if not token.only_name or cap == Role.READER:
        return Standing(own, min(own, cap), f"has only the scope {token.scope}")
    # Whatever its scope, such a token only publishes its name.
    cap = Role.PUBLISHER if canonical(only_name) == canonical(token.only_name) else Role.READER
    return Standing(own, min(own, cap), f"may publish only {token.only_name}")


def _granted(viewer: Viewer, need: Role) -> Q:
    """Match namespaces where the person has at least the role, ignoring the token; staff read everywhere."""
    if operates(viewer) or (viewer.user is not None and viewer.user.is_staff and need == Role.READER):
        return _EVERYWHERE
    return Q(pk__in=grants_of(viewer.user).filter(role__gte=need).values("namespace"))


def _covers(viewer: Viewer) -> Q:
    """Match namespaces on the token's list; without a token or a list, all."""
    if viewer.token is None or not viewer.token.is_limited:
        return _EVERYWHERE
    listed = ApiToken.namespaces.through.objects.filter(apitoken=viewer.token.pk, namespace=OuterRef("pk"))
    return Q(Exists(listed))


def _record_refusal(viewer: Viewer, name: str, need: Role, standing: Standing) -> None:
    viewer.record(
        Kind.PERMISSION_REFUSED,
        subject=name[:300],
        needed=need.label.lower(),
        held=standing.role.label.lower() if standing.role else "",
    )


def _role_required(namespace: Namespace, need: Role, standing: Standing) -> RoleRequired:
    name, needed = namespace.name, need.label.lower()
    held = standing.role.label.lower() if standing.role else "none"
    message = f"This needs the role {needed} in {name}; you have {held}."
    if standing.own and standing.own.covers(need):
        return RoleRequired(
            f"This needs the role {needed} in {name}; you are {standing.own.label.lower()} there, but this token "
            f"{standing.limit}, so it acts as {held}.",
            hint="Use a token whose scope, namespaces and name allow it.",
        )
    owners = contacts.owners_of(namespace)
    if not owners:
        return RoleRequired(message, hint=f"{name} has no active owner. {contacts.ask_operator(f'the role {needed}')}")
    return RoleRequired(message, hint=f"Ask an owner of {name} for the role {needed}: {contacts.named(owners)}.")
