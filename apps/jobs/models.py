from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Case, Expression, ExpressionWrapper, F, Q, Value, When
from django.db.models.functions import Concat, Greatest, Now


class State(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


WORKING = (State.QUEUED, State.RUNNING)


# What a worker that is lost leaves behind.
LOST = " was lost during the work: it was killed, ran out of memory, or could not reach the database."


def if_lapsed() -> dict[str, Case]:
    """Return what changes in a job whose lease has run out, and nothing for one without a lease.

    Its worker was killed or cut off, which is no attempt: it has counted one when it began, and that is taken back.
    """
    return {
        name: Case(When(lease_until=None, then=F(name)), default=change, output_field=change.output_field)
        for name, change in _lapsed().items()
    }


def _lapsed() -> dict[str, Expression]:
    return {
        "attempts": Greatest(F("attempts") - 1, 0, output_field=models.IntegerField()),
        "lapses": ExpressionWrapper(F("lapses") + 1, output_field=models.IntegerField()),
        "error": Concat(Value("The worker "), F("worker"), Value(LOST), output_field=models.TextField()),
    }


class JobQuerySet(models.QuerySet["Job"]):
    def claimable(self) -> Self:
        """Return jobs that wait or whose worker's lease ran out, except those postponed by an outage."""
        return self.filter(state__in=WORKING).filter(
            Q(lease_until=None) | Q(lease_until__lt=Now()), Q(not_before=None) | Q(not_before__lte=Now())
        )

    def to_ring(self) -> Self:
        """Return claimable jobs without a recent ring: the ring was lost, or the worker died."""
        return self.claimable().filter(
            Q(rung_at=None) | Q(rung_at__lt=Now() - settings.JOB_RING_AGAIN) | ~Q(lease_until=None)
        )

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-pk")

    def waiting_since(self) -> datetime | None:
        """Return when the oldest queued job was created. Postponed jobs do not count."""
        ready = self.filter(state=State.QUEUED).exclude(not_before__gt=Now())
        return ready.order_by("created_at").values_list("created_at", flat=True).first()


class Job(models.Model):
    """One piece of work, and the outbox for it (D4). Celery only rings the doorbell.

    `fence` grows with every claim: a worker that slept too long has an old one, and its writes match no row.
    """

    kind = models.CharField(max_length=40, help_text="The name of its Celery task.")
    target = models.BigIntegerField(help_text="Primary key of the object it works on.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    attempts = models.PositiveIntegerField(default=0)
    lapses = models.PositiveIntegerField(
        default=0, db_default=0, help_text="How often a worker was lost while it worked on it: no attempt."
    )
    fence = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    rung_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=120, blank=True, help_text="host:pid of the last worker that claimed it.")
    error = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    created_by_id = models.BigIntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = JobQuerySet.as_manager()
    row: models.Model | None = None  # the target, set by `targets.attach`

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["kind", "target"], condition=Q(state__in=["queued", "running"]), name="jobs_one_at_a_time"
            ),
        ]
        indexes = [
            models.Index(fields=["state", "lease_until"], name="jobs_by_lease"),
            models.Index(fields=["-created_at"], name="jobs_newest"),
            # A release page looks up the job of its release.
            models.Index(F("kind"), F("target"), name="jobs_by_target"),
            models.Index(fields=["request_id"], name="jobs_by_request"),
        ]
        permissions = [("retry_job", "Can retry a job"), ("cancel_job", "Can cancel a job")]

    def __str__(self) -> str:
        return f"{self.kind} #{self.target}" if self.row is None else f"{self.kind} {self.row}"


class Heartbeat(models.Model):
    """When a worker last reported, or beat, for /readyz."""

    worker = models.CharField(max_length=120, unique=True)
    queues = models.CharField(max_length=60, db_default="check sign", help_text="What it works on.")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.worker
