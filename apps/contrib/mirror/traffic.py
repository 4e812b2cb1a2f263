"""The packages that the mirror serves and fetches, by upstream and day: the difference did not come from elsewhere."""

from dataclasses import dataclass
from datetime import date, timedelta

from django.db.models import F, Sum
from django.utils import timezone

from apps.contrib.mirror.models import MirrorDay

KEPT = timedelta(days=400)


@dataclass(frozen=True, slots=True)
class Exchange:
    """The packages that one upstream's mirror served to clients, and those that it fetched."""

    host: str
    served: int
    served_bytes: int
    fetched: int
    fetched_bytes: int

    @property
    def saved_bytes(self) -> int:
        """0 while more was fetched, as ahead of clients, than served."""
        return max(self.served_bytes - self.fetched_bytes, 0)


def add_served(upstream_id: int, day: date, packages: int, size: int) -> None:
    _add(upstream_id, day, served=packages, served_bytes=size)


def add_fetched(upstream_id: int, size: int) -> None:
    _add(upstream_id, timezone.now().date(), fetched=1, fetched_bytes=size)


def _add(upstream_id: int, day: date, **more: int) -> None:
    row = MirrorDay.objects.filter(upstream=upstream_id, day=day)
    changes = {name: F(name) + number for name, number in more.items()}
    if not row.update(**changes):
        MirrorDay.objects.bulk_create([MirrorDay(upstream_id=upstream_id, day=day)], ignore_conflicts=True)
        row.update(**changes)


def exchanges(first: date, last: date) -> list[Exchange]:
    """Return the sums of these days, of the upstream that saved the most first."""
    names = ("served", "served_bytes", "fetched", "fetched_bytes")
    rows = MirrorDay.objects.filter(day__gte=first, day__lte=last).values_list("upstream__host")
    sums = rows.annotate(*map(Sum, names)).order_by("upstream__host")
    # PostgreSQL sums bigints as numeric.
    found = [Exchange(host, *map(int, values)) for host, *values in sums]
    return sorted(found, key=lambda one: -one.saved_bytes)


def prune() -> None:
    MirrorDay.objects.filter(day__lt=timezone.now().date() - KEPT).delete()
