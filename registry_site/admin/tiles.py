"""Tiles of the dashboard: counts and states, each with a link to the list behind it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.contrib import admin
from django.db.models import Model, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.timesince import timesince

from apps.accounts.models import Namespace, Team, User
from apps.admin_base import bounded_count, bounded_counts, size
from apps.blobs import store
from apps.blobs.models import Blob
from apps.jobs import heartbeats
from apps.jobs.models import Job
from apps.jobs.models import State as JobState
from apps.modules import reinspection
from apps.modules.models import Module, ModuleVersion
from apps.providers.models import Provider, ProviderVersion
from apps.releases.models import Release
from apps.releases.models import State as ReleaseState
from apps.room import rooms
from apps.signing import keys
from apps.signing.models import SigningKey
from registry_site.server import probes

# A job that waits longer has no worker, or too few.
LONG_WAIT = timedelta(minutes=5)
# A worker ends a job after minutes: one that is still at work has no worker, or fails again and again.
LONG_WORK = timedelta(hours=1)
LOW_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Tile:
    """A count with a link to the list of these rows."""

    label: str
    model: type[Model]
    rows: Callable[[], QuerySet[Any]]
    query: str = ""
    is_alarm: bool = False

    def shown(self, count: int) -> dict[str, Any]:
        # "10,000+" beyond the limit of counting
        return _shown(self.label, str(count), _list_of(self.model) + self.query, is_alarm=self.is_alarm and count > 0)


@dataclass(frozen=True, slots=True)
class State:
    """A state as text; `look` returns it and whether it is an alarm."""

    label: str
    model: type[Model]  # people who may view it see the tile
    look: Callable[[], tuple[str, bool]]
    url: Callable[[], str]

    def shown(self) -> dict[str, Any]:
        words, is_alarm = self.look()
        return _shown(self.label, words, self.url(), is_alarm=is_alarm)


def _shown(label: str, count: str, url: str, *, is_alarm: bool) -> dict[str, Any]:
    return {"label": label, "count": count, "url": url, "is_alarm": is_alarm}


def shown(tiles: Sequence[Tile | State]) -> list[dict[str, Any]]:
    """All counts in one query."""
    counted = [tile for tile in tiles if isinstance(tile, Tile)]
    counts = iter(bounded_counts(*(tile.rows() for tile in counted)) if counted else ())
    return [tile.shown(next(counts)) if isinstance(tile, Tile) else tile.shown() for tile in tiles]


def _of_rooms() -> list[Tile]:
    """Return the tiles of the installed rooms."""
    return [
        Tile(label, one.get_model(model), one.resolved(rows), query, is_alarm=True)
        for one in rooms()
        for label, (model, rows, query) in one.alarm_tiles.items()
    ]


def _list_of(model: type[Model]) -> str:
    meta = model._meta  # noqa: SLF001  # Django's public name for it
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def _jobs(state: JobState) -> QuerySet[Job]:
    return Job.objects.filter(state=state)


def _accounts(*, is_service: bool) -> QuerySet[User]:
    return User.objects.filter(is_active=True, is_service=is_service)


def _problems() -> QuerySet[Blob]:
    return Blob.objects.exclude(problem="")


def _workers() -> tuple[str, bool]:
    count = bounded_count(heartbeats.since(probes.HEARTBEAT_MAX_AGE))
    return str(count), count == 0


def _longest_wait() -> tuple[str, bool]:
    since = Job.objects.awaited().waiting_since()
    if since is None:
        return "none", False
    return timesince(since, depth=1), timezone.now() - since > LONG_WAIT


def _oldest_running() -> tuple[str, bool]:
    oldest = _jobs(JobState.RUNNING).order_by("created_at", "pk").first()
    if oldest is None:
        return "none", False
    return timesince(oldest.created_at, depth=1), timezone.now() - oldest.created_at > LONG_WORK


def _oldest_first(state: JobState) -> str:
    # The admin sorts by the position of a column; position 0 is the checkbox of the actions.
    age = 1 + list(admin.site.get_model_admin(Job).list_display).index("age")
    return f"{_list_of(Job)}?state__exact={state}&o={age}"


def _storage() -> tuple[str, bool]:
    state = probes.checks.states()["storage"]
    if state != "ok":
        return "away", True
    free = store.free_bytes()
    return ("answers", False) if free is None else (f"{size(free)} free", free < LOW_BYTES)


TILES: tuple[tuple[str, tuple[Tile | State, ...]], ...] = (
    (
        "At work",
        (
            State("Workers", Job, _workers, lambda: reverse("status")),
            State("Longest wait", Job, _longest_wait, lambda: _oldest_first(JobState.QUEUED)),
            State("Oldest running job", Job, _oldest_running, lambda: _oldest_first(JobState.RUNNING)),
            Tile("Jobs waiting", Job, lambda: _jobs(JobState.QUEUED), f"?state__exact={JobState.QUEUED}"),
            Tile("Jobs running", Job, lambda: _jobs(JobState.RUNNING), f"?state__exact={JobState.RUNNING}"),
            Tile("Jobs failed", Job, lambda: _jobs(JobState.FAILED), f"?state__exact={JobState.FAILED}", is_alarm=True),
            State("Storage", Release, _storage, lambda: reverse("admin:storage")),
        ),
    ),
    (
        "Needs attention",
        (
            Tile(
                "Releases failed",
                Release,
                lambda: Release.objects.filter(state=ReleaseState.FAILED),
                f"?state__exact={ReleaseState.FAILED}",
                is_alarm=True,
            ),
            Tile(
                "Releases held",
                Release,
                lambda: Release.objects.filter(state=ReleaseState.HELD),
                f"?state__exact={ReleaseState.HELD}",
            ),
            Tile(
                "Releases awaiting approval",
                Release,
                lambda: Release.objects.filter(state=ReleaseState.AWAITING_APPROVAL),
                f"?state__exact={ReleaseState.AWAITING_APPROVAL}",
            ),
            Tile(
                "In quarantine",
                Release,
                lambda: Release.objects.filter(state=ReleaseState.PUBLISHED, quarantined_at__isnull=False),
                f"?quarantined=1&state__exact={ReleaseState.PUBLISHED}",
                is_alarm=True,
            ),
            Tile("Blobs missing or damaged", Blob, _problems, "?problem=any", is_alarm=True),
            *_of_rooms(),
            Tile("Keys expired or expiring", SigningKey, keys.due, "?expiry=due", is_alarm=True),
            Tile("Inspected by an older version", ModuleVersion, reinspection.outdated, "?inspection=outdated"),
            Tile(
                "Namespaces without an active owner",
                Namespace,
                Namespace.objects.without_active_owner,
                "?leaderless=yes",
                is_alarm=True,
            ),
            Tile(
                "Teams without an active manager",
                Team,
                Team.objects.without_active_manager,
                "?leaderless=yes",
                is_alarm=True,
            ),
        ),
    ),
    (
        "In the registry",
        (
            Tile("Namespaces", Namespace, Namespace.objects.all),
            Tile("Modules", Module, Module.objects.all),
            Tile("Module versions", ModuleVersion, ModuleVersion.objects.all),
            Tile("Providers", Provider, Provider.objects.all),
            Tile("Provider versions", ProviderVersion, ProviderVersion.objects.all),
            Tile("Teams", Team, Team.objects.all),
            Tile("People", User, lambda: _accounts(is_service=False), "?is_active__exact=1&kind=person"),
            Tile("Service accounts", User, lambda: _accounts(is_service=True), "?is_active__exact=1&kind=service"),
        ),
    ),
)
