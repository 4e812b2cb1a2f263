"""Connections that people make to a namespace and leave behind: trusted publishers, Git repositories, webhooks.

A connection works without the person who made it, so it would survive their role. Owners answer for it: who created it,
or has confirmed it since, and who has changed it after that. It is left behind once one of them owns the namespace no
more. A transfer suspends what was left behind; the loss of a role lists it, for those who stay and for the audit.

Each room describes its rows (`Source`); registry_site/wiring.py lists them.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.urls import NoReverseMatch, reverse
from django.utils import timezone

from apps.accounts.access import gate
from apps.accounts.access.gate import OPERATE, Viewer
from apps.accounts.access.people_only import people_only
from apps.accounts.models import ConnectionChange, Grant, Membership, Namespace, Role, User
from apps.audit.kinds import Kind
from apps.lib.errors import Conflict, NotFound

# In one event; its text says how many more there are.
MAX_LISTED = 100
MAX_NAMED = 5  # in a sentence
TRANSFERRED = "The namespace was transferred."
CREATED_AGAIN = "The namespace was deleted and created again."


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of connection, a model that inherits `models.Connection`.

    `rows` returns those that have not ended, with what `name` and `path` read. `stop` ends what one is doing when it is
    suspended, `resume` lets it work again. `place`: where it stands among the kinds of a list. `machine`: as what the
    account that acts for one knows its row.
    """

    kind: str
    noun: str
    rows: Callable[[], QuerySet[Any]]
    name: Callable[[Any], str]
    path: Callable[[Any], str]
    stop: Callable[[Any, Viewer], None]
    resume: Callable[[Any, Viewer], None]
    place: int
    machine: str = ""


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret that works in a namespace for everyone who knows it, as `person` does: they chose it, or saw it once."""

    noun: str
    name: str
    person: User
    path: str

    def __str__(self) -> str:
        return f"{self.noun} {self.name}"


# Both by registry_site/wiring.py.
sources: tuple[Source, ...] = ()
secrets: tuple[Callable[[Namespace], Iterable[Secret]], ...] = ()


def machine_names() -> list[str]:
    """Return the names of those rows at the accounts of machines."""
    return [source.machine for source in sources if source.machine]


@dataclass(frozen=True, slots=True)
class Connected:
    """`people` answer for it, `left` are those of them who do not own its namespace. Neither has an account that was
    deleted: then `is_unknown`.
    """

    source: Source
    row: Any
    people: tuple[User, ...]
    left: tuple[User, ...]
    is_unknown: bool

    @property
    def kind(self) -> str:
        return self.source.kind

    @property
    def number(self) -> int:
        return int(self.row.pk)

    @property
    def name(self) -> str:
        return self.source.name(self.row)

    @property
    def path(self) -> str:
        """Of its page; of the list, where the room of that page is left out."""
        try:
            return self.source.path(self.row)
        except NoReverseMatch:
            return reverse("portal:namespace-connections", args=[self.row.namespace.name])

    @property
    def names(self) -> list[str]:
        """Of the people, by which pages and the API call them."""
        return [one.shown_name for one in self.people] or ["a former user"]

    @property
    def is_left_behind(self) -> bool:
        return self.is_unknown or bool(self.left)

    @property
    def is_suspended(self) -> bool:
        return self.row.suspended_at is not None

    def __str__(self) -> str:
        return f"{self.source.noun} {self.name}"


# --- What there is ----------------------------------------------------------------------------------------------------


def of(namespace: Namespace, *, without: Grant | None = None) -> list[Connected]:
    """Return the connections of a namespace; `without`: as they would be without this grant."""
    return _described(_rows(Q(namespace=namespace)), without=without)


def one_of(namespace: Namespace, kind: str, number: int) -> Connected:
    """Raises NotFound."""
    found = _described(_rows(Q(namespace=namespace, pk=number), kind=kind))
    if not found:
        raise NotFound(f"{namespace} has no such connection.", hint="See the list of its connections.")
    return found[0]


def waiting_in(namespace: Namespace) -> list[Connected]:
    """Return those that are suspended until an owner confirms them."""
    return _described(_rows(Q(namespace=namespace, suspended_at__isnull=False)))


def has_any(namespace: Namespace, *, suspended: bool = False) -> bool:
    """Tell in one query whether there are any, or any that are suspended, for pages that only point at the list."""
    which = {"suspended_at__isnull": False} if suspended else {}
    found = (Exists(source.rows().filter(namespace=OuterRef("pk"), **which).order_by()) for source in sources)
    return Namespace.objects.filter(reduce(or_, map(Q, found), Q(pk=None)), pk=namespace.pk).exists()


def would_leave(grant: Grant) -> list[Connected]:
    """Return what would be left behind without the grant, and is not already."""
    if grant.role != Role.OWNER:
        return []
    before = {(one.kind, one.number) for one in of(grant.namespace) if one.is_left_behind}
    after = of(grant.namespace, without=grant)
    return [one for one in after if one.is_left_behind and (one.kind, one.number) not in before]


def to_do_in(places: QuerySet[Namespace]) -> list[Connected]:
    """Return what waits for the owners of these namespaces: suspended, or left behind. Of each kind at most MAX_LISTED
    are looked at, suspended ones first.
    """
    found = _described(_rows(Q(namespace__in=places), most=MAX_LISTED))
    return [one for one in found if one.is_suspended or one.is_left_behind]


def left_behind() -> list[Connected]:
    """Return all that were left behind, of all namespaces, and those of none (site-wide), which operators own."""
    return [one for one in _described(_rows(Q())) if one.is_left_behind]


def secrets_of_others(namespace: Namespace) -> list[Secret]:
    """Return the secrets that people know who do not own the namespace. A transfer leaves them: owners replace them."""
    found = [secret for known in secrets for secret in known(namespace)]
    owners = _owners({secret.person.pk for secret in found}, [namespace.pk], None) if found else None
    return [secret for secret in found if owners is not None and not owners(secret.person.pk, namespace.pk)]


# --- Suspend and confirm ----------------------------------------------------------------------------------------------


def suspend_left_behind(*, namespace: Namespace, actor: Viewer, reason: str) -> list[Connected]:
    """Suspend what was left behind, in the caller's transaction, which has locked the namespace and changed its roles.

    Return what is suspended by this; what was before stays so.
    """
    found = [one for one in of(namespace) if one.is_left_behind and not one.is_suspended]
    for one in found:
        values = {"suspended_at": timezone.now(), "suspended_reason": reason}
        type(one.row).objects.filter(pk=one.number).update(**values)
        for field, value in values.items():
            setattr(one.row, field, value)
        one.source.stop(one.row, actor)
    known = secrets_of_others(namespace)
    if found or known:
        actor.record(Kind.CONNECTIONS_SUSPENDED, subject=namespace.name, reason=reason, **_listed(found, known))
    return found


@people_only("confirm connections")
@transaction.atomic
def confirm(*, namespace: Namespace, kind: str, number: int, actor: Viewer) -> Connected:
    """Answer for a connection in place of those before; a suspended one works again. Safe to repeat. Raises NotFound,
    and what the gate raises.
    """
    row = lock_as_owner(namespace, actor)
    found = one_of(namespace if row is None else row, kind, number)
    if not found.is_suspended and not found.is_unknown and [one.pk for one in found.people] == [actor.user_id]:
        return found
    take_over(kind, found.row, actor)
    actor.record(
        Kind.CONNECTION_CONFIRMED,
        subject=namespace.name,
        connection={"kind": kind, "id": number, "name": found.name},
        was_suspended=found.is_suspended,
        instead_of=sorted(one.pk for one in found.people),
    )
    if found.is_suspended:
        found.source.resume(found.row, actor)
    return one_of(namespace, kind, number)


def take_over(kind: str, row: Any, actor: Viewer) -> None:
    """The actor alone answers for it from now on, and it is not suspended. In the transaction of the verb."""
    type(row).objects.filter(pk=row.pk).update(
        confirmed_by=actor.user, confirmed_at=timezone.now(), suspended_at=None, suspended_reason=""
    )
    ConnectionChange.objects.filter(kind=kind, number=row.pk).delete()


def sentence_of(left: Sequence[Connected]) -> str:
    """Say what was left behind, for messages; empty if nothing was."""
    if not left:
        return ""
    named = [f"{one} of {one.row.namespace}" for one in left[:MAX_NAMED]]
    more = f" and {len(left) - MAX_NAMED} more" if len(left) > MAX_NAMED else ""
    return f"Left behind, and still working: {', '.join(named)}{more}."


def noun_of(kind: str) -> str:
    return next((source.noun for source in sources if source.kind == kind), kind)


def refuse_suspended(row: Any, what: str) -> None:
    """For verbs that would have it work. Raises Conflict."""
    if row.suspended_at is not None:
        raise Conflict(f"{what} is suspended: {row.suspended_reason}", hint=hint_for(row))


def hint_for(row: Any) -> str:
    return f"An owner of {row.namespace} confirms it on the page of the namespace's connections."


def changed(kind: str, number: int, actor: Viewer) -> None:
    """The actor answers for it as well from now on. In the transaction of the change."""
    if actor.user_id is not None:
        row = ConnectionChange(kind=kind, number=number, user_id=actor.user_id)
        ConnectionChange.objects.bulk_create([row], ignore_conflicts=True)


def lock_as_owner(namespace: Namespace | None, actor: Viewer) -> Namespace | None:
    """Lock the namespace, and ask the gate again: a transfer between the caller's question and this lock would not have
    seen what the former owner connects. Return the row; None for a deleted one, and without a namespace.
    """
    if namespace is None:
        return None
    row = Namespace.objects.select_for_update().filter(pk=namespace.pk).first()
    if row is not None and actor.user is not None:
        gate.namespace_for(actor, row.name, need=Role.OWNER)
    return row


# --- The loss of a role -----------------------------------------------------------------------------------------------


@contextmanager
def watching(
    actor: Viewer, *, namespaces: Collection[int] | None = None, users: Collection[int] | None = None
) -> Iterator[list[Connected]]:
    """Record what people leave behind by what happens inside, an event for each namespace: its other owners get a mail.

    Yield a list that has it afterwards, as far as the actor owned the namespaces: others do not read their names. In a
    transaction. `namespaces` and `users`: the numbers of those whom it may concern; None for all.
    """
    wanted = Q() if namespaces is None else Q(namespace__in=list(namespaces))
    before = {(one.kind, one.number): one for one in _described(_rows(wanted, by=users))}
    owned = _owned_by(users, namespaces)
    known = {row.pk: set(map(str, secrets_of_others(row))) for row in owned}
    numbers = {one.row.namespace_id for one in before.values()}
    shown = set(gate.namespaces_with_role(actor, Role.OWNER).filter(pk__in=numbers).values_list("pk", flat=True))
    told: list[Connected] = []
    yield told
    lost: dict[int, list[Connected]] = {}
    for one in _described([(one.source, one.row) for one in before.values()]) if before else ():
        already = {person.pk for person in before[one.kind, one.number].left}
        if one.row.namespace_id is not None and any(person.pk not in already for person in one.left):
            lost.setdefault(one.row.namespace_id, []).append(one)
    fresh = {row.pk: [one for one in secrets_of_others(row) if str(one) not in known[row.pk]] for row in owned}
    names = {row.pk: row.name for row in owned} | {number: lost[number][0].row.namespace.name for number in lost}
    for number, name in sorted(names.items()):
        found, secret = lost.get(number, []), fresh.get(number, [])
        left = sorted({person.pk for one in found for person in one.left} | {one.person.pk for one in secret})
        if left:
            actor.record(Kind.CONNECTIONS_LEFT_BEHIND, subject=name, left=left, **_listed(found, secret))
        told += found if number in shown else []


def _owned_by(users: Collection[int] | None, namespaces: Collection[int] | None) -> list[Namespace]:
    """The namespaces, or those that these people own by now: a secret of them may become one of others."""
    if users is None:
        return list(Namespace.objects.filter(pk__in=list(namespaces or ()))[:MAX_LISTED])
    teams = Membership.objects.filter(user__in=users).values("team")
    grants = Grant.objects.filter(Q(user__in=users) | Q(team__in=teams), role=Role.OWNER)
    return list(Namespace.objects.filter(pk__in=grants.values("namespace")).order_by("pk")[:MAX_LISTED])


def _listed(found: Sequence[Connected], known: Sequence[Secret]) -> dict[str, Any]:
    """Details of an event, which outlives people: it does not name them."""
    named = [{"kind": one.kind, "id": one.number, "name": one.name} for one in found[:MAX_LISTED]]
    detail: dict[str, Any] = {"connections": named}
    if known:
        detail["secrets"] = [{"kind": one.noun, "name": one.name} for one in known[:MAX_LISTED]]
    return detail | ({"not_listed": len(found) - MAX_LISTED} if len(found) > MAX_LISTED else {})


# --- Who answers for it -----------------------------------------------------------------------------------------------


Row = tuple[Source, Any]


def _rows(
    wanted: Q, *, kind: str | None = None, by: Collection[int] | None = None, most: int | None = None
) -> list[Row]:
    found: list[Row] = []
    for source in sources:
        if kind is not None and source.kind != kind:
            continue
        rows = source.rows().filter(wanted).select_related("namespace", "created_by", "confirmed_by")
        if by is not None:
            changed_by = ConnectionChange.objects.filter(kind=source.kind, user__in=by).values("number")
            rows = rows.filter(Q(created_by__in=by) | Q(confirmed_by__in=by) | Q(pk__in=changed_by))
        rows = rows.order_by("pk") if most is None else rows.order_by(F("suspended_at").asc(nulls_last=True), "pk")
        found += [(source, row) for row in rows[:most]]
    return found


def _described(rows: Sequence[Row], *, without: Grant | None = None) -> list[Connected]:
    """In the same few queries for any number."""
    if not rows:
        return []
    changes: dict[tuple[str, int], list[User | None]] = {}
    for source in dict.fromkeys(source for source, _ in rows):
        numbers = [row.pk for one, row in rows if one is source]
        found = ConnectionChange.objects.filter(kind=source.kind, number__in=numbers).select_related("user")
        for change in found.order_by("pk"):
            changes.setdefault((source.kind, change.number), []).append(change.user)
    answering = {
        (source.kind, row.pk): [
            row.confirmed_by if row.confirmed_at is not None else row.created_by,
            *changes.get((source.kind, row.pk), ()),
        ]
        for source, row in rows
    }
    known = {one.pk for people in answering.values() for one in people if one is not None}
    owners = _owners(known, {row.namespace_id for _, row in rows}, without)
    described = []
    for source, row in rows:
        people = answering[source.kind, row.pk]
        present = tuple({one.pk: one for one in people if one is not None}.values())
        left = tuple(one for one in present if not owners(one.pk, row.namespace_id))
        described.append(Connected(source, row, present, left, is_unknown=None in people))
    return described


def _owners(
    people: Collection[int], namespaces: Iterable[int | None], without: Grant | None
) -> Callable[[int, int | None], bool]:
    """Tell who of them, active, owns which namespace: by a grant, by a team, or as an operator."""
    active = User.objects.filter(pk__in=people, is_active=True)
    grants = Grant.objects.filter(namespace__in=[one for one in namespaces if one is not None], role=Role.OWNER)
    if without is not None:
        grants = grants.exclude(pk=without.pk)
    pairs = set(grants.filter(user__in=active).values_list("user", "namespace"))
    by_team = Membership.objects.filter(user__in=active, team__grants__in=grants)
    pairs |= set(by_team.values_list("user", "team__grants__namespace"))
    operators = {one.pk for one in active.filter(is_staff=True) if one.has_perm(OPERATE)}
    return lambda person, namespace: person in operators or (person, namespace) in pairs
