"""Tiles of the overview: counts, each with a link to the list behind it. What is zero has none."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils import timezone

from apps.accounts.models import Invitation, Namespace, Team, User
from apps.accounts.people import invitations
from apps.admin_base.counting import bounded_counts, bounded_sum
from apps.jobs.models import Job
from apps.jobs.models import State as JobState
from apps.modules import reinspection
from apps.modules.models import Module, ModuleVersion
from apps.providers.models import Provider, ProviderVersion
from apps.releases.models import Release
from apps.releases.models import State as ReleaseState


@dataclass(frozen=True, slots=True)
class Tile:
    """A count with a link to the list of these rows; `rows` may be several sets that have no row in common."""

    label: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any] | list[QuerySet[Any]]]
    query: str = ""


def shown(groups: Mapping[str, Sequence[Tile]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Return those that are not zero, by group. All counts are one query; "10,000+" is beyond its limit."""
    asked = {
        tile: rows if isinstance(rows := tile.rows(), list) else [rows] for some in groups.values() for tile in some
    }
    counts, found = iter(bounded_counts(*(rows for parts in asked.values() for rows in parts))), []
    totals = {tile: bounded_sum([next(counts) for _ in parts]) for tile, parts in asked.items()}
    for title, tiles in groups.items():
        cells = [
            {"label": tile.label, "count": str(totals[tile]), "url": _list_of(tile.model) + tile.query}
            for tile in tiles
            if totals[tile]
        ]
        found += [(title, cells)] if cells else []
    return found


def _list_of(model: type[Model]) -> str:
    meta = model._meta  # noqa: SLF001  # Django's public name for it
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def _jobs(state: JobState) -> QuerySet[Job]:
    return Job.objects.filter(state=state)


def _accounts(*, is_service: bool) -> QuerySet[User]:
    return User.objects.filter(is_active=True, is_service=is_service)


def _open_invitations() -> QuerySet[Invitation]:
    return Invitation.objects.filter(invitations.is_open(timezone.now()))


def _releases(state: ReleaseState) -> Tile:
    words = {ReleaseState.HELD: "Releases held", ReleaseState.AWAITING_APPROVAL: "Releases awaiting approval"}[state]
    return Tile(words, Release, lambda: Release.objects.filter(state=state), f"?state__exact={state}")


OPEN_WORK = (
    _releases(ReleaseState.AWAITING_APPROVAL),
    _releases(ReleaseState.HELD),
    Tile("Jobs waiting", Job, lambda: _jobs(JobState.QUEUED), f"?state__exact={JobState.QUEUED}"),
    Tile("Jobs running", Job, lambda: _jobs(JobState.RUNNING), f"?state__exact={JobState.RUNNING}"),
    Tile("Open invitations", Invitation, _open_invitations, "?state=open"),
    Tile("Inspected by an older version", ModuleVersion, reinspection.outdated_parts, "?inspection=outdated"),
)
IN_THE_REGISTRY = (
    Tile("Namespaces", Namespace, Namespace.objects.all),
    Tile("Modules", Module, Module.objects.all),
    Tile("Module versions", ModuleVersion, ModuleVersion.objects.all),
    Tile("Providers", Provider, Provider.objects.all),
    Tile("Provider versions", ProviderVersion, ProviderVersion.objects.all),
    Tile("Teams", Team, Team.objects.all),
    Tile("People", User, lambda: _accounts(is_service=False), "?is_active__exact=1&kind=person"),
    Tile("Service accounts", User, lambda: _accounts(is_service=True), "?is_active__exact=1&kind=service"),
)
TILES = {"Open work": OPEN_WORK, "In the registry": IN_THE_REGISTRY}
