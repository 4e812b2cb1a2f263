"""Who counts as the author of a release, and so cannot approve it. docs/approval.md has the rules in words.

The author is the account that started the release, or another one from the same upload. Whoever may act as that account
is no second person: its person's other accounts, those who can make tokens of it, and machines whose tokens its person
can make. A CI run has no person: whoever has the role may approve what it published, but no run approves anything.
"""

from dataclasses import dataclass
from enum import StrEnum

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.accounts.access.gate import OPERATE, Viewer, operates
from apps.accounts.models import ApiToken, Membership, User
from apps.accounts.people import same_person
from apps.accounts.rows import TrustedPublisher
from apps.releases.models import Release, ReleaseQuerySet


class Tie(StrEnum):
    """Why an account is no second person; the value goes into the audit."""

    AUTHOR = "author"
    SAME_PERSON = "same-person"
    OWN_MACHINE = "service-account-of-the-author"  # the approver is a machine of the author
    MACHINE = "author-is-own-service-account"  # the author is a machine of the approver
    SAME_TEAM = "service-account-of-the-same-people"
    CI_RUN = "trusted-publisher"


@dataclass(frozen=True, slots=True)
class Ties:
    """The accounts whose releases the viewer cannot decide about, and why: all machines of teams, for operators."""

    accounts: dict[int, Tie]
    all_machines: bool = False

    def of(self, author: User) -> Tie | None:
        if author.pk in self.accounts:
            return self.accounts[author.pk]
        return Tie.MACHINE if self.all_machines and author.service_of_id else None

    def among(self, releases: ReleaseQuerySet) -> ReleaseQuerySet:
        """Leave out releases by these accounts, and those from an upload of theirs."""
        theirs = Q(created_by__in=list(self.accounts))
        if self.all_machines:
            theirs |= Q(created_by__is_service=True, created_by__service_of__isnull=False)
        upload = Release.objects.filter(theirs, staging_key=OuterRef("staging_key")).exclude(staging_key="")
        return releases.exclude(theirs).exclude(Exists(upload))


def authors_of(release: Release) -> QuerySet[User]:
    """Who started it, and who started others from the same upload: one of them sent the bytes."""
    same = Q(pk=release.created_by_id or 0)
    if release.staging_key:
        same |= Q(pk__in=Release.objects.filter(staging_key=release.staging_key).values("created_by"))
    return User.objects.filter(same)


def tie_of(release: Release, viewer: Viewer) -> Tie | None:
    """Return why the viewer is no second person for this release, or None."""
    if viewer.user is None or is_run(viewer.user):
        return Tie.CI_RUN
    ties = ties_of(viewer)
    return next((tie for author in authors_of(release) if (tie := ties.of(author)) is not None), None)


def is_run(user: User) -> bool:
    """A run of a trusted publisher, or of one that has ended."""
    return user.is_service and TrustedPublisher.objects.filter(user=user).exists()


def ties_of(viewer: Viewer) -> Ties:
    assert viewer.user is not None  # noqa: S101  # callers have asked
    return _of_machine(viewer.user) if viewer.user.is_service else _of_person(viewer.user)


def _of_person(user: User) -> Ties:
    own = same_person.accounts_of(user)
    accounts = dict.fromkeys(_machines_of(own), Tie.MACHINE)
    accounts |= dict.fromkeys(own, Tie.SAME_PERSON)
    accounts[user.pk] = Tie.AUTHOR
    people = User.objects.filter(pk__in=own, is_staff=True)
    return Ties(accounts, all_machines=any(operates(Viewer(one)) for one in people))


def _of_machine(machine: User) -> Ties:
    """Operators can make tokens of every machine, so they count, but they do not tie two machines to each other."""
    holders = _holders_of(machine)
    people = {number for one in User.objects.filter(pk__in=holders) for number in same_person.accounts_of(one)}
    accounts = dict.fromkeys(_machines_of(people), Tie.SAME_TEAM)
    operators = User.objects.with_perm(OPERATE)
    accounts |= dict.fromkeys([*people, *operators.filter(is_staff=True).values_list("pk", flat=True)], Tie.OWN_MACHINE)
    accounts[machine.pk] = Tie.AUTHOR
    return Ties(accounts)


def _holders_of(machine: User) -> set[int]:
    """The people who can make its tokens, and those who made one that is valid: they may have its secret."""
    managers = Membership.objects.filter(team=machine.service_of_id or 0, is_manager=True, user__is_service=False)
    made = ApiToken.objects.usable(timezone.now()).filter(user=machine, made_by__isnull=False)
    return {*managers.values_list("user", flat=True), *made.values_list("made_by", flat=True)}


def _machines_of(people: set[int]) -> set[int]:
    """As `_holders_of`, from the other side."""
    managed = Membership.objects.filter(user__in=people, is_manager=True).values("team")
    machines = User.objects.filter(is_service=True, service_of__in=managed)
    made = ApiToken.objects.usable(timezone.now()).filter(made_by__in=people, user__is_service=True)
    return {*machines.values_list("pk", flat=True), *made.values_list("user", flat=True)}
