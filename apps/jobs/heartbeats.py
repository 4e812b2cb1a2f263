"""The workers and beat that reported recently, for /readyz."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Max, QuerySet
from django.db.models.functions import Now

from apps.jobs.models import Heartbeat

# Names contain process ids, so every restart leaves a row behind.
LIFETIME = timedelta(days=1)
# A beat rings once in each interval.
BEAT_LEASE = 2 * settings.REAPER_INTERVAL
# In place of the queues that a worker names.
_BEAT = "beat"


def beat(worker_name: str) -> None:
    """Record that this worker takes work, and of which queues, by the database's clock."""
    _record(worker_name, " ".join(settings.WORKER_QUEUES))


def ring(process_name: str) -> None:
    """Record that the process of beat has just rung for regular work."""
    _record(_row_of_beat(process_name), _BEAT)


def beat_has_turn(process_name: str) -> bool:
    """Return whether this process of beat is the one that rings.

    It is the one that began first among those that rang lately. Another takes over when that one has been silent for
    `BEAT_LEASE`.
    """
    name = _row_of_beat(process_name)
    others = Heartbeat.objects.filter(queues=_BEAT, at__gte=Now() - BEAT_LEASE).exclude(worker=name)
    own = Heartbeat.objects.filter(worker=name).values_list("pk", flat=True).first()
    return not (others if own is None else others.filter(pk__lt=own)).exists()


def end_beat(process_name: str) -> None:
    """Let another process of beat ring at once."""
    Heartbeat.objects.filter(worker=_row_of_beat(process_name)).update(at=Now() - BEAT_LEASE)


def _row_of_beat(process_name: str) -> str:
    return f"{_BEAT} {process_name}"[:120]


def _record(name: str, queues: str) -> None:
    Heartbeat.objects.bulk_create(
        [Heartbeat(worker=name, queues=queues, at=Now())],
        update_conflicts=True,
        unique_fields=["worker"],
        update_fields=["queues", "at"],
    )
    Heartbeat.objects.filter(at__lt=Now() - LIFETIME).delete()


def workers() -> QuerySet[Heartbeat]:
    return Heartbeat.objects.exclude(queues=_BEAT)


def since(age: timedelta) -> QuerySet[Heartbeat]:
    """Return the workers that reported within the last `age`."""
    return workers().filter(at__gte=Now() - age)


def newest(queue: str = "") -> datetime | None:
    """Return when a worker last reported, one of that queue if it is given."""
    return _newest(workers().filter(queues__contains=queue))


def beat_rang() -> datetime | None:
    """Return when beat last rang for regular work; None if it has not within a day."""
    return _newest(Heartbeat.objects.filter(queues=_BEAT))


def _newest(rows: QuerySet[Heartbeat]) -> datetime | None:
    found: datetime | None = rows.aggregate(newest=Max("at"))["newest"]
    return found
