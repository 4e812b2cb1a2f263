"""The workers that reported recently, for /readyz."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from apps.jobs.models import Heartbeat

# Names contain process ids, so every restart leaves a row behind.
LIFETIME = timedelta(days=1)


def beat(worker_name: str) -> None:
    """Record that this worker is alive and what it works on, by the database's clock."""
    Heartbeat.objects.bulk_create(
        [Heartbeat(worker=worker_name, queues=" ".join(settings.WORKER_QUEUES), at=Now())],
        update_conflicts=True,
        unique_fields=["worker"],
        update_fields=["queues", "at"],
    )
    Heartbeat.objects.filter(at__lt=Now() - LIFETIME).delete()


def since(age: timedelta) -> QuerySet[Heartbeat]:
    """Return the workers that reported within the last `age`."""
    return Heartbeat.objects.filter(at__gte=Now() - age)


def newest(queue: str = "") -> datetime | None:
    """Return when a worker last reported, one of that queue if it is given."""
    rows = Heartbeat.objects.filter(queues__contains=queue)
    found: datetime | None = rows.aggregate(newest=Max("at"))["newest"]
    return found
