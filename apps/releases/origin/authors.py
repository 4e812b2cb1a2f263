"""The people who took part in a release, and so cannot approve it. docs/approval.md has the rules in words.

The author is the account that started the release, or another one from the same upload. An account that may act as the
author is no second person: its person's other accounts, those who can make tokens of it, and machines whose tokens its
person can make. The author of what comes from Git or CI is a machine, so that its ties are those of the people behind
it: who connected, changed or scanned the repository, wrote the trusted publisher, started the sync, the retry or the
run, made or pushed the tag, or created the token.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.accounts.access import connections
from apps.accounts.access.gate import OPERATE, Viewer, operates
from apps.accounts.models import Act, ApiToken, MachineAct, Membership, TrustedPublisher, User
from apps.accounts.people import same_person
from apps.releases.models import Release, ReleaseQuerySet
from apps.releases.origin.models import Part, Participant


class Tie(StrEnum):
    """Why an account is no second person; the value goes into the audit."""

    AUTHOR = "author"
    SAME_PERSON = "same-person"
    OWN_MACHINE = "service-account-of-the-author"  # the approver is a machine of the author
    MACHINE = "author-is-own-service-account"  # the author is a machine of the approver
    SAME_TEAM = "service-account-of-the-same-people"
    CI_RUN = "trusted-publisher"
    # The approver, or an account that is tied to them, took part in what a machine published.
    CONNECTED = "connected-the-repository"
    STARTED = "started-the-repository"
    CHANGED = "changed-the-repository"
    SCANNED = "scanned-the-repository"
    RULE = "wrote-the-trusted-publisher"
    SYNC = "started-the-sync"
    RETRY = "retried-the-tag"
    ANSWER = "answered-its-questions"
    TOKEN = "created-the-token"  # noqa: S105
    ACTOR = "started-the-run"
    TAGGER = "made-the-tag"
    PUSHER = "pushed-the-tag"
    # Where two people have to approve.
    APPROVED = "approved-it-already"
    NO_PERSON = "service-account-where-two-people-approve"


_OF_ACT = {Act.STARTED: Tie.STARTED, Act.CHANGED: Tie.CHANGED, Act.SCANNED: Tie.SCANNED}
_OF_PART = {
    Part.TOKEN: Tie.TOKEN,
    Part.SYNC: Tie.SYNC,
    Part.RETRY: Tie.RETRY,
    Part.ANSWER: Tie.ANSWER,
    Part.ACTOR: Tie.ACTOR,
    Part.TAGGER: Tie.TAGGER,
    Part.PUSHER: Tie.PUSHER,
}


@dataclass(frozen=True, slots=True)
class Bond:
    """`through`: as what the approver is the one who took part; None if the tie says that itself."""

    tie: Tie
    through: Tie | None = None


@dataclass(frozen=True, slots=True)
class Ties:
    """The accounts that are the viewer, or as which they can act, and why: all machines of teams, for operators.

    `marks` are of the viewer's identities.
    """

    accounts: dict[int, Tie]
    marks: frozenset[str] = frozenset()
    all_machines: bool = False

    def of(self, author: User) -> Tie | None:
        if author.pk in self.accounts:
            return self.accounts[author.pk]
        return Tie.MACHINE if self.all_machines and author.service_of_id else None

    def among(self, releases: ReleaseQuerySet) -> ReleaseQuerySet:
        """Leave out releases in which these accounts took part, and those from an upload of theirs."""
        theirs = self._these("created_by") | Q(created_by__in=self._touched()) | self._named()
        upload = Release.objects.filter(theirs, staging_key=OuterRef("staging_key")).exclude(staging_key="")
        return releases.exclude(theirs).exclude(Exists(upload))

    def _these(self, path: str) -> Q:
        found = Q(**{f"{path}__in": list(self.accounts)})
        if self.all_machines:
            found |= Q(**{f"{path}__is_service": True, f"{path}__service_of__isnull": False})
        return found

    def _touched(self) -> QuerySet[User, Any]:
        """The machines whose repository or rule is theirs, or was changed by them."""
        made = [self._these(f"{what}__{by}") for what in connections.machine_names() for by in _MAKERS]
        acted = MachineAct.objects.filter(self._these("user")).values("machine")
        return User.objects.filter(reduce(or_, made, Q(pk__in=acted)), is_service=True).values("pk")

    def _named(self) -> Q:
        rows = Participant.objects.filter(release=OuterRef("pk"))
        return Q(Exists(rows.filter(self._these("user") | Q(mark__in=self.marks))))


# Who made a rule or a repository: the account, and whoever made the token that it sent.
_MAKERS = ("created_by", "created_by_token__made_by")


def authors_of(release: Release) -> QuerySet[User]:
    """Return the starters of this and other releases from the same upload: one of them sent the bytes."""
    return User.objects.filter(pk__in=_of_upload(release).values("created_by"))


def is_automated(release: Release) -> bool:
    """It came from Git or CI: its author is a machine, or one sent its bytes."""
    return authors_of(release).filter(is_service=True).exists()


@dataclass(frozen=True, slots=True)
class Involved:
    """The people who took part in a release: accounts, and marks of identities that may belong to one."""

    authors: tuple[User, ...]
    others: tuple[tuple[Tie, User], ...]
    marks: tuple[tuple[Tie, str], ...]

    def bond(self, viewer: Viewer) -> Bond | None:
        """Return why the viewer is no second person for the release, or None."""
        if viewer.user is None or is_run(viewer.user):
            return Bond(Tie.CI_RUN)
        ties = ties_of(viewer)
        for author in self.authors:
            if (tie := ties.of(author)) is not None:
                return Bond(tie)
        for tie, user in self.others:
            if (through := ties.of(user)) is not None:
                return Bond(tie, through)
        return next((Bond(tie, Tie.AUTHOR) for tie, mark in self.marks if mark in ties.marks), None)


def involved_in(release: Release) -> Involved:
    authors = tuple(authors_of(release))
    machines = [author.pk for author in authors if author.is_service]
    others: list[tuple[Tie, int]] = []
    # The repository or the rule for which a machine publishes.
    for what in reversed(connections.machine_names()):
        tie = Tie.RULE if what == "trusted_publisher" else Tie.CONNECTED
        for by in (f"{what}__{path}" for path in _MAKERS):
            found = User.objects.filter(pk__in=machines, **{f"{by}__isnull": False})
            others += [(tie, number) for number in found.values_list(by, flat=True).order_by("pk")]
    acts = MachineAct.objects.filter(machine__in=machines).order_by("pk").values_list("act", "user")
    others += [(_OF_ACT[Act(act)], number) for act, number in acts]
    rows = Participant.objects.filter(release__in=_of_upload(release)).order_by("pk")
    named: list[tuple[str, int | None, str]] = list(rows.values_list("part", "user", "mark"))
    others += [(_OF_PART[Part(part)], number) for part, number, _ in named if number is not None]
    people = User.objects.in_bulk({number for _, number in others})
    marks = tuple((_OF_PART[Part(part)], mark) for part, number, mark in named if number is None)
    return Involved(authors, tuple((tie, people[number]) for tie, number in others if number in people), marks)


def bond_of(release: Release, viewer: Viewer) -> Bond | None:
    """Return why the viewer is no second person for this release, or None."""
    return involved_in(release).bond(viewer)


def bond_with(approver: User, viewer: Viewer) -> Bond | None:
    """Return why the viewer is no other person than the one who has approved, or None."""
    through = ties_of(viewer).of(approver)
    return None if through is None else Bond(Tie.APPROVED, through)


def is_suspended(release: Release) -> bool:
    """Its author is the machine of a connection that does nothing until an owner confirms it."""
    rows = (Q(**{f"{what}__suspended_at__isnull": False}) for what in connections.machine_names())
    return User.objects.filter(reduce(or_, rows), pk=release.created_by_id or 0, is_service=True).exists()


def is_run(user: User) -> bool:
    """A run of a trusted publisher, or of one that has ended."""
    return user.is_service and TrustedPublisher.objects.filter(user=user).exists()


def ties_of(viewer: Viewer) -> Ties:
    assert viewer.user is not None  # noqa: S101  # callers have asked
    return _of_machine(viewer.user) if viewer.user.is_service else _of_person(viewer.user)


def _of_upload(release: Release) -> ReleaseQuerySet:
    """The release, and others that are read from the same upload."""
    same = Q(pk=release.pk)
    if release.staging_key:
        same |= Q(staging_key=release.staging_key)
    return Release.objects.filter(same)


def _of_person(user: User) -> Ties:
    own = same_person.accounts_of(user)
    accounts = dict.fromkeys(_machines_of(own), Tie.MACHINE)
    accounts |= dict.fromkeys(own, Tie.SAME_PERSON)
    accounts[user.pk] = Tie.AUTHOR
    people = User.objects.filter(pk__in=own, is_staff=True)
    marks = frozenset(same_person.marks_of(own))
    return Ties(accounts, marks, all_machines=any(operates(Viewer(one)) for one in people))


def _of_machine(machine: User) -> Ties:
    """Operators can make tokens of every machine, so they count, but they do not tie two machines to each other."""
    holders = _holders_of(machine)
    people = {number for one in User.objects.filter(pk__in=holders) for number in same_person.accounts_of(one)}
    accounts = dict.fromkeys(_machines_of(people), Tie.SAME_TEAM)
    operators = User.objects.with_perm(OPERATE)
    people |= {*operators.filter(is_staff=True).values_list("pk", flat=True)}
    accounts |= dict.fromkeys(people, Tie.OWN_MACHINE)
    accounts[machine.pk] = Tie.AUTHOR
    return Ties(accounts, frozenset(same_person.marks_of(people)))


def _holders_of(machine: User) -> set[int]:
    """The people who can make its tokens, and those who made one that is valid: they may have its secret."""
    managers = Membership.objects.filter(team=machine.service_of_id or 0, is_manager=True, user__is_service=False)
    made = ApiToken.objects.usable(timezone.now()).filter(user=machine, made_by__isnull=False)
    return {*managers.values_list("user", flat=True), *made.values_list("made_by", flat=True)}


def _machines_of(people: set[int]) -> set[int]:
    """Return the machines that these people hold, the inverse of `_holders_of`."""
    managed = Membership.objects.filter(user__in=people, is_manager=True).values("team")
    machines = User.objects.filter(is_service=True, service_of__in=managed)
    made = ApiToken.objects.usable(timezone.now()).filter(made_by__in=people, user__is_service=True)
    return {*machines.values_list("pk", flat=True), *made.values_list("user", flat=True)}
