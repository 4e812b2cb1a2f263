"""Who has been at work lately: what /readyz calls «the worker answers»."""

from datetime import datetime, timedelta

from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from apps.jobs.models import Heartbeat

# Names hold process ids, so every restart leaves one behind.
FORGOTTEN_AFTER = timedelta(days=1)


def beat(worker_name: str) -> None:
    """Note that this worker is alive, by the database's clock."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(worker=worker_name, at=Now())],
        update_conflicts=True,
        unique_fields=["worker"],
        update_fields=["at"],
    )
    Heartbeat.objects.filter(at__lt=Now() - FORGOTTEN_AFTER).delete()


def since(age: timedelta) -> QuerySet[Heartbeat]:
    """The workers that reported within the last `age`."""
    return Heartbeat.objects.filter(at__gte=Now() - age)


def newest() -> datetime | None:
    found: datetime | None = Heartbeat.objects.aggregate(newest=Max("at"))["newest"]
    return found
