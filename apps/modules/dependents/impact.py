"""Find what is hit when versions leave the lists, or are no longer served (D9): configurations that pipelines reported,
modules of this registry, and accounts that downloaded them.

`releases.lifecycle.impact` has the value that pages, the API and assistants show.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time
from typing import Any

from django.urls import reverse

from apps.accounts.access import operators
from apps.accounts.access.gate import Viewer, people_with, visible_teams
from apps.accounts.models import Membership, Namespace, Role
from apps.lib import versions
from apps.lib.addresses import ProviderAddress
from apps.lib.constraints import Constraint
from apps.lib.errors import Invalid
from apps.lib.versions import Version
from apps.modules.dependents import configurations, users
from apps.modules.dependents.sources import Reference
from apps.modules.dependents.users import Use
from apps.modules.models import ConfigurationUse
from apps.releases.lifecycle import impact
from apps.releases.lifecycle.impact import Act, Consequences, Effect, Hit, Hitting
from apps.releases.models import Fetch, Kind, Release

# Modules and providers that one answer describes: each takes a few queries.
MAX_PARENTS = 20
MAX_REPORTS = 2_000
UNKNOWN = "may fail: its constraint is unknown"
MAY_BE_IT = "may use this version, which stays available by tag and digest until it is quarantined or purged"
MAY_BE_TAKEN = "may use this version by its tag or digest"
BY_TAG = "still gets it by its tag until it is quarantined or purged"
A_MACHINE = "a service account"
Outcome = tuple[Effect, str, str]  # with the version that it gets, and a note


@dataclass(frozen=True, slots=True)
class Parent:
    """A module or provider, some versions of which are `chosen`, and the numbers of those that stay listed."""

    kind: str
    namespace: Namespace
    name: str
    chosen: Sequence[Release]
    left: Sequence[str]

    @property
    def versions(self) -> list[Version]:
        return [versions.parse(one.version) for one in self.chosen]


def of_releases(viewer: Viewer, releases: Sequence[Release], act: Act, *, role: Role) -> Consequences:
    """Return what the act does. The caller asks the gate for the role, which says how much the viewer reads.

    Readers learn of the modules that they see, publishers of downloads as well, and how many configurations are hit;
    which ones, owners alone.
    """
    grouped: dict[tuple[str, int, str], list[Release]] = {}
    for release in releases:
        grouped.setdefault((release.kind, release.namespace_id, release.name), []).append(release)
    parents = [_parent(chosen) for chosen in list(grouped.values())[:MAX_PARENTS]]
    hits, counts = [], Counter[tuple[Hitting, Effect]]()
    people: set[int] = set()
    for parent in parents:
        calling = list(_modules(viewer, parent, act))
        hits += calling
        if not role.covers(Role.PUBLISHER):
            continue
        people |= owners_among({hit.name.partition("/")[0] for hit in calling})
        reported = list(_reported(parent))
        people |= {use.configuration.reporter_id for use in reported}
        if role.covers(Role.OWNER):
            hits += _configurations(viewer, parent, reported, act)
        else:
            found = (_of_report(use, parent, act)[0] for use in reported)
            counts.update((Hitting.CONFIGURATION, effect) for effect in found)
    hits += [hit for contributed in impact.contributors for hit in contributed(viewer, releases, act)]
    hits += _elsewhere(viewer, releases, act)
    counts.update((hit.kind, hit.effect) for hit in hits)
    more: dict[str, Any] = {}
    if role.covers(Role.PUBLISHER):
        fetched = impact.fetches_of(releases)
        people |= {one.user_id for one in fetched}
        accounts = list(_accounts(viewer, fetched))
        hits += accounts
        downloads = impact.downloads_of(releases)
        more = {"downloads": downloads, "nameless": max(0, downloads - sum(one.count for one in accounts))}
    is_complete = len(grouped) <= MAX_PARENTS
    return Consequences(hits=hits, counts=counts, people=frozenset(people), is_complete=is_complete, **more)


def owners_among(namespaces: Collection[str]) -> set[int]:
    """Return the numbers of the people who own one of them."""
    return set(people_with(Role.OWNER, namespaces).values_list("pk", flat=True)) if namespaces else set()


def _parent(chosen: Sequence[Release]) -> Parent:
    first = chosen[0]
    rows = Release.objects.listed().filter(kind=first.kind, namespace=first.namespace_id, name=first.name)
    left = list(rows.exclude(pk__in=[one.pk for one in chosen]).values_list("version", flat=True))
    return Parent(first.kind, first.namespace, first.name, chosen, left)


def _modules(viewer: Viewer, parent: Parent, act: Act) -> Iterator[Hit]:
    """The modules here that call or require it, each with one hit for each of its different calls."""
    if parent.kind == Kind.MODULE:
        uses = users.of_module(viewer, users.address_of(parent.namespace.name, parent.name))
    else:
        uses = users.of_provider(viewer, ProviderAddress(parent.namespace.name, parent.name))
    seen: set[Hit] = set()
    outcomes: dict[tuple[str, str], Outcome | None] = {}  # thousands of modules ask for the same few
    for use in uses:
        if (use.constraint, use.source) not in outcomes:
            outcomes[use.constraint, use.source] = _of_use(use, parent, act)
        outcome = outcomes[use.constraint, use.source]
        if outcome is None:
            continue
        effect, gets, note = outcome
        address = use.address
        hit = Hit(
            Hitting.MODULE,
            str(address),
            effect,
            where=use.version,
            asks=use.asked or "any version",
            gets=gets,
            note=note,
            url=reverse("portal:module-version", args=[address.namespace, address.name, address.system, use.version]),
        )
        if hit not in seen:
            seen.add(hit)
            yield hit


def _of_use(use: Use, parent: Parent, act: Act) -> Outcome | None:
    """Return what becomes of a caller; None if no version that it may use is chosen."""
    reference = use.reference
    if reference is not None and (reference.digest or reference.tag not in ("", users.LATEST)):
        return _of_reference(reference, parent, act)
    try:
        constraint = Constraint.parse(use.constraint if reference is None else "")
    except Invalid:
        return (Effect.KEEPS if act.is_safe else Effect.MAY_FAIL), "", UNKNOWN
    if not any(constraint.allows(one) for one in parent.versions):
        return None
    return _moved(constraint, parent, act)


def _of_reference(reference: Reference, parent: Parent, act: Act) -> Outcome | None:
    """A tag or a digest still reaches a yanked version; quarantine and purge break the caller."""
    with suppress(Invalid):
        if not reference.digest:
            tagged = users.version_of(reference.tag).precedence
            if tagged not in [one.precedence for one in parent.versions]:
                return None
            return (Effect.FAILS, "", "") if act.takes_bytes else (Effect.KEEPS, "", "" if act.is_safe else BY_TAG)
    if act.is_safe:
        return None
    return (Effect.MAY_FAIL, "", MAY_BE_TAKEN) if act.takes_bytes else (Effect.KEEPS, "", MAY_BE_IT)


def _moved(constraint: Constraint, parent: Parent, act: Act) -> Outcome:
    if act.is_safe:
        return Effect.KEEPS, "", ""
    instead = constraint.highest(parent.left) or ""
    return (Effect.MOVES if instead else Effect.FAILS), instead, ""


def _reported(parent: Parent) -> Sequence[ConfigurationUse]:
    rows = configurations.reports_of(parent.chosen)
    return list(rows[:MAX_REPORTS])


def _configurations(viewer: Viewer, parent: Parent, reported: Sequence[ConfigurationUse], act: Act) -> Iterator[Hit]:
    names = configurations.reporter_names(viewer, {use.configuration.reporter for use in reported})
    for use in reported:
        effect, gets, note = _of_report(use, parent, act)
        yield Hit(
            Hitting.CONFIGURATION,
            use.configuration.repository,
            effect,
            where=use.configuration.folder,
            asks=use.constraint,
            by=names.get(use.configuration.reporter_id, A_MACHINE),
            gets=gets,
            note=note,
            at=use.configuration.reported_at,
        )


def _of_report(use: ConfigurationUse, parent: Parent, act: Act) -> Outcome:
    """A lock file says what its configuration asks for. Of a module `modules.json` says only what is installed."""
    if act.is_safe:
        return Effect.KEEPS, "", ""
    if use.constraint or parent.kind == Kind.PROVIDER:
        with suppress(Invalid):
            return _moved(Constraint.parse(use.constraint), parent, act)
    highest = Constraint.parse("").highest(parent.left) or ""
    return (Effect.MAY_FAIL if parent.left else Effect.FAILS), highest, ""


def _accounts(viewer: Viewer, fetched: Sequence[Fetch]) -> Iterator[Hit]:
    """Each account once, with the teams that the viewer sees."""
    recent: dict[int, list[Fetch]] = {}
    for one in fetched:
        recent.setdefault(one.user_id, []).append(one)
    teams: dict[int, list[str]] = {}
    if recent:
        seen = Membership.objects.filter(user__in=list(recent), team__in=visible_teams(viewer))
        for user, team in seen.order_by("team__name").values_list("user", "team__name"):
            teams.setdefault(user, []).append(team)
    for user_id, rows in recent.items():
        yield Hit(
            Hitting.ACCOUNT,
            rows[0].user.username,
            Effect.DOWNLOADED,
            by=", ".join(teams.get(user_id, [])),
            count=sum(one.count for one in rows),
            at=datetime.combine(rows[0].last_on, time(), UTC),
        )


def _elsewhere(viewer: Viewer, releases: Sequence[Release], act: Act) -> Iterator[Hit]:
    """Others with the same bytes: a quarantine blocks those, too. Staff alone read of them."""
    if act != Act.QUARANTINE or not operators.is_operator(viewer):
        return
    chosen = {one.pk for one in releases}
    for release in releases[:MAX_PARENTS]:
        for other in impact.same_bytes_elsewhere(release):
            if other.pk not in chosen:
                yield Hit(Hitting.VERSION, str(other), Effect.FAILS, note="has the same bytes")
