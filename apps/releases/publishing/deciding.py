"""The people who can decide about a release that awaits approval; why others cannot, in words; and whom these ask."""

from collections.abc import Sequence
from itertools import islice
from operator import itemgetter

from django.db.models import Q, QuerySet

from apps.accounts.access import contacts
from apps.accounts.access.gate import Viewer
from apps.accounts.models import Grant, Membership, Role, User
from apps.lib.errors import RegistryError, RoleRequired
from apps.releases.models import Release
from apps.releases.origin import authors
from apps.releases.origin.authors import Bond, Involved, Tie
from apps.releases.origin.models import Approval

MAX_NAMED = 3
# Of more people with the role than these, the rest is not asked about for a sentence.
MAX_ASKED = 40

_TIES = {
    Tie.AUTHOR: "You published it yourself",
    Tie.SAME_PERSON: "Published by another account of yours: both have the same identity or mail address",
    Tie.OWN_MACHINE: "Its author can make tokens of this service account",
    Tie.MACHINE: "Published by a service account whose tokens you can create",
    Tie.SAME_TEAM: "Published by a service account managed by the same people as this one",
    Tie.CI_RUN: "A run of a trusted publisher approves nothing",
    Tie.NO_PERSON: "Two people have to approve it, and a service account is not a person",
}
# What the one did who took part.
_DID = {
    Tie.CONNECTED: "connected the repository that it comes from",
    Tie.STARTED: "started to publish from its repository",
    Tie.CHANGED: "changed the settings of its repository",
    Tie.SCANNED: "had its repository scanned",
    Tie.RULE: "added the trusted publisher that published it",
    Tie.SYNC: "started the sync that found it",
    Tie.RETRY: "retried it",
    Tie.ANSWER: "answered its questions",
    Tie.TOKEN: "created the token that published it",
    Tie.ACTOR: "started the run that published it",
    Tie.TAGGER: "made its tag",
    Tie.PUSHER: "pushed its tag",
    Tie.APPROVED: "approved it already",
}
# As what the viewer is the one.
_WHO = {
    Tie.AUTHOR: "You",
    Tie.SAME_PERSON: "Another account of yours",
    Tie.MACHINE: "A service account whose tokens you can make",
    Tie.OWN_MACHINE: "Someone who can make tokens of this service account",
    Tie.SAME_TEAM: "A service account of the same people",
}


def bond_of(release: Release, viewer: Viewer, approval: Approval | None) -> Bond | None:
    """Return why this viewer cannot approve the release, as far as their person matters; None if they can.

    `approval` is as the caller read it. Who approved it first, and a service account where two people approve, may
    still decline it.
    """
    return _bond(authors.involved_in(release), viewer, approval)


def _bond(involved: Involved, viewer: Viewer, approval: Approval | None) -> Bond | None:
    bond = involved.bond(viewer)
    if bond is not None or viewer.user is None or approval is None or not approval.needs_two:
        return bond
    if viewer.user.is_service:
        return Bond(Tie.NO_PERSON)
    return authors.bond_with(approval.first_by, viewer) if approval.first_by is not None else None


def refusal_of(release: Release, viewer: Viewer) -> RegistryError | None:
    """Return the refusal that follows from `bond_of`, in words. Their role and the second factor are asked for at the
    decision.
    """
    bond = bond_of(release, viewer, approval_of(release))
    return None if bond is None else refusal(release, bond)


def refusal(release: Release, bond: Bond) -> RoleRequired:
    return RoleRequired(_said(bond), hint=whom_to_ask(release))


def whom_to_ask(release: Release) -> str:
    """Name some who can approve it; if those are too few, say who can give others the role."""
    approval, involved = approval_of(release), authors.involved_in(release)
    needed = 2 if approval is not None and approval.needs_two and approval.first_at is None else 1
    asked = list(_people_of(release).order_by("username")[: MAX_ASKED + 1])
    able = (one.shown_name for one in asked[:MAX_ASKED] if _bond(involved, Viewer(one), approval) is None)
    names = list(islice(able, MAX_NAMED + 1))
    if len(names) < needed and len(asked) <= MAX_ASKED:
        return _too_few(release, names)
    return f"Ask {in_words(names, more=len(asked) > MAX_ASKED)}."


def perhaps_asked(releases: Sequence[Release]) -> dict[int, list[str]]:
    """Return by number of each release some who most likely can approve it, in one query for all.

    They have the role, and are neither its author nor a person with the same mail address. `whom_to_ask` says it
    exactly, in many queries.
    """
    grants = Grant.objects.filter(namespace__in={one.namespace_id for one in releases}, role__gte=Role.PUBLISHER)
    by_person = grants.filter(user__is_active=True, user__is_service=False)
    by_team = grants.filter(team__memberships__user__is_active=True, team__memberships__user__is_service=False)
    rows = by_person.values_list("namespace", "user", "user__username", "user__email").union(
        by_team.values_list("namespace", *(f"team__memberships__user{part}" for part in ("", "__username", "__email")))
    )
    found = sorted(rows[: MAX_ASKED * max(1, len(releases))], key=itemgetter(2)) if releases else []
    return {
        release.pk: [
            name
            for namespace, number, name, address in found
            if namespace == release.namespace_id
            and number != release.created_by_id
            and not (address and release.created_by and address.lower() == release.created_by.email.lower())
        ]
        for release in releases
    }


def in_words(names: Sequence[str], *, more: bool = False) -> str:
    """Bob, Dora or another publisher. `more`: there are others than these."""
    shown = [*names[:MAX_NAMED], "another publisher"] if more or len(names) > MAX_NAMED else list(names)
    return " or ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else ""


def _too_few(release: Release, names: list[str]) -> str:
    who = f"Two people have to, and only {names[0]} can." if names else ""
    owners = contacts.owners_of(release.namespace)
    owner = f"An owner ({contacts.named(owners)})" if owners else "An operator"
    none = f"No one {'else ' if who else ''}with the role publisher in {release.namespace} can approve it."
    return " ".join(
        filter(None, (who, none, f"{owner} can give that role to someone who took no part, or ask an operator."))
    )


def approvers_of(release: Release) -> set[User]:
    """Return the people who are asked: they have the role, and took no part."""
    return {one for one, bond in _judged(release).items() if bond is None}


def asked_and_refused(release: Release) -> tuple[set[User], dict[User, str]]:
    """Return the people with the role: who is asked, and why others cannot approve what a machine published."""
    judged = _judged(release)
    asked = {one for one, bond in judged.items() if bond is None}
    if len(asked) == len(judged) or not authors.is_automated(release):
        return asked, {}
    ask = whom_to_ask(release)
    return asked, {one: f"{_said(bond)} {ask}" for one, bond in judged.items() if bond is not None}


def _judged(release: Release) -> dict[User, Bond | None]:
    involved, approval = authors.involved_in(release), approval_of(release)
    return {one: _bond(involved, Viewer(one), approval) for one in _people_of(release)}


def approval_of(release: Release) -> Approval | None:
    return Approval.objects.select_related("first_by").filter(release=release).first()


def _said(bond: Bond) -> str:
    who = _TIES[bond.tie] if bond.through is None else f"{_WHO[bond.through]} {_DID[bond.tie]}"
    return f"{who}: someone else has to decide."


def _people_of(release: Release) -> QuerySet[User]:
    grants = Grant.objects.filter(namespace=release.namespace, role__gte=Role.PUBLISHER)
    members = Membership.objects.filter(team__in=grants.filter(team__isnull=False).values("team"))
    held = Q(pk__in=grants.filter(user__isnull=False).values("user")) | Q(pk__in=members.values("user"))
    return User.objects.filter(held, is_active=True, is_service=False)
