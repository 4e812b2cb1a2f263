"""The consequences of taking access away: a role, a team, a member of one, or a machine that publishes."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Max, Q
from django.urls import reverse

from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Membership, Namespace, Role, Team, User, Visibility
from apps.accounts.people import accounts
from apps.releases.lifecycle.impact import Consequences, Effect, Hit, Hitting, Words, consequences_of
from apps.releases.models import Kind, Release

OF_ROLES = {
    Effect.FAILS: Words("loses access", "lose access", "{} that lose access"),
    Effect.MOVES: Words("keeps a lower role", "keep a lower role", "{} that keep a lower role"),
    Effect.KEEPS: Words("keeps the same role", "keep the same role", "{} that keep the same role"),
}
OF_MACHINES = {
    Effect.FAILS: Words("gets no new versions from it", "get no new versions from it", "{} that it published"),
}


def of_grant(viewer: Viewer, grant: Grant | None) -> Consequences:
    """Return what its holders lose. It names the accounts that the viewer may look up; the caller asks the gate."""
    return _named_to(viewer, _losses([grant] if grant else []))


def of_team(viewer: Viewer, team: Team) -> Consequences:
    """Return what its members lose, in each of its namespaces. Its service accounts are deleted with it."""
    return _named_to(viewer, _losses(_grants_of(team), deleted=team.pk))


def of_membership(viewer: Viewer, membership: Membership | None) -> Consequences:
    """Return what one member of a team loses by leaving it."""
    return _named_to(viewer, _losses(_grants_of(membership.team), only=membership.user_id) if membership else [])


def of_machine(machine: User) -> Consequences:
    """Return the modules and providers that the account of a trusted publisher or a Git repository published."""
    rows = Release.objects.published().filter(created_by=machine).values("kind", "namespace__name", "name")
    found = rows.annotate(number=Count("pk"), at=Max("published_at")).order_by("-at", "name")
    return consequences_of((_published(**row) for row in found), words=OF_MACHINES)


def _published(*, kind: str, namespace__name: str, name: str, number: int, at: Any) -> Hit:
    note = "1 version so far" if number == 1 else f"{number:,} versions so far"
    url = reverse(f"portal:{kind}", args=[namespace__name, *name.split("/")])
    hitting = Hitting.MODULE if kind == Kind.MODULE else Hitting.PROVIDER
    return Hit(hitting, f"{namespace__name}/{name}", Effect.FAILS, note=note, at=at, url=url)


def _grants_of(team: Team) -> list[Grant]:
    return list(Grant.objects.filter(team=team).select_related("namespace"))


def _named_to(viewer: Viewer, hits: Iterable[Hit]) -> Consequences:
    found = list(hits)
    names = {hit.name for hit in found}
    shown = Q(pk__in=accounts.shown_to(viewer).values("pk")) | Q(is_service=True)
    known = set(User.objects.filter(shown, username__in=names).values_list("username", flat=True))
    counts = Counter((hit.kind, hit.effect) for hit in found)
    return Consequences(hits=[hit for hit in found if hit.name in known], counts=counts, words=OF_ROLES)


@dataclass(slots=True)
class _Roles:
    """The highest role of one account in one namespace; 0 for none."""

    now: int = 0
    afterwards: int = 0
    is_hit: bool = False


def _losses(taken: list[Grant], *, only: int | None = None, deleted: int = 0) -> Iterator[Hit]:
    """Compare the roles by all grants of these namespaces with those that are left.

    `only` is the one account that loses them, and `deleted` the team whose service accounts end.
    """
    spaces = {grant.namespace_id: grant.namespace for grant in taken}
    gone = {grant.pk for grant in taken}
    grants = list(Grant.objects.filter(namespace__in=spaces))
    members = defaultdict[int, list[int]](list)
    for membership in Membership.objects.filter(team__in={grant.team_id for grant in grants if grant.team_id}):
        members[membership.team_id].append(membership.user_id)
    found = defaultdict[tuple[int, int], _Roles](_Roles)
    for grant in grants:
        for account in [grant.user_id] if grant.user_id else members[grant.team_id or 0]:
            roles = found[grant.namespace_id, account]
            roles.now = max(roles.now, grant.role)
            if grant.pk in gone and only in (None, account):
                roles.is_hit = True
            else:
                roles.afterwards = max(roles.afterwards, grant.role)
    hit = {place: roles for place, roles in found.items() if roles.is_hit}
    accounts_hit = User.objects.filter(pk__in={account for _, account in hit}, is_active=True)
    for user in accounts_hit.annotate(seen_at=Max("api_tokens__last_used_at")).order_by("username"):
        for number, space in spaces.items():
            if (number, user.pk) in hit:
                roles = hit[number, user.pk]
                left = 0 if deleted and user.service_of_id == deleted else max(roles.afterwards, _for_all(space, user))
                yield _loss(user, space, roles.now, left)


def _for_all(space: Namespace, user: User) -> int:
    """The role that the account has in the namespace without any grant."""
    return 0 if space.visibility == Visibility.PRIVATE and not user.is_staff else Role.READER


def _loss(user: Any, space: Namespace, now: int, left: int) -> Hit:
    gets = ""
    if left >= now:
        effect = Effect.KEEPS
    elif left:
        effect, gets = Effect.MOVES, Role(left).label.lower()
    else:
        effect = Effect.FAILS
    note = f"{Role(now).label.lower()} of {space}"
    return Hit(Hitting.ACCOUNT, user.username, effect, gets=gets, note=note, at=user.seen_at)
