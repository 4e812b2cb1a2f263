"""The cool-down of a namespace: clients see a release so many hours after its publication.

`visible_at` is set when it is published, so that a later change of the setting touches no published release. It is
empty for what clients see: from the beginning, because an owner ended it, or because the time has come. Reads compare
it with the time themselves, so that nothing depends on when the job of catalogue/showing.py comes round.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, TypeVar

from django.utils import timezone

from apps.accounts.models import Namespace
from apps.lib.errors import RegistryError
from apps.releases.models import Release

T = TypeVar("T")


class HeldBack(RegistryError):
    """Clients do not see the release yet. The text has the date."""

    code = "forbidden"


@dataclass(frozen=True, slots=True)
class Shown(Generic[T]):
    """The rows that clients see, and when they change without a new event: the answer is valid until then. `held`: what
    they do not see.
    """

    rows: list[T] = field(default_factory=list)
    next_at: datetime | None = None
    held: list[T] = field(default_factory=list)


def begins(namespace: Namespace, now: datetime) -> datetime | None:
    """Return when clients will see what is published now; None for at once."""
    hours = namespace.cooldown_hours
    return now + timedelta(hours=hours) if hours else None


def shown(rows: Iterable[T], visible_at: Callable[[T], datetime | None], *, now: datetime | None = None) -> Shown[T]:
    """Leave out what is held back."""
    now = now or timezone.now()
    seen: list[T] = []
    held: list[T] = []
    dates = []
    for row in rows:
        at = visible_at(row)
        if at is not None and at > now:
            held.append(row)
            dates.append(at)
        else:
            seen.append(row)
    return Shown(seen, min(dates, default=None), held)


def require_visible(release: Release, *, what: str = "") -> None:
    """Raise HeldBack with the date. `what` names the release where its row lacks the columns for it."""
    if not release.is_held_back:
        return
    assert release.visible_at is not None  # noqa: S101  # else it is not held
    raise HeldBack(
        f"{what or release} is in its cool-down: clients can fetch it from {release.visible_at:%Y-%m-%d %H:%M} UTC on.",
        hint="An owner of the namespace can end the cool-down.",
    )
