from datetime import datetime
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models import Case, Expression, F, Q, Value, When
from django.db.models.expressions import Combinable
from django.db.models.functions import Concat, Greatest, Now


class State(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"


WORKING = (State.QUEUED, State.RUNNING)


# What a worker that is lost leaves behind.
LOST = "was lost during the work: it was killed, ran out of memory, or could not reach the database."


class Leased(models.Model):
    """Work that one worker at a time tries, until its lease runs out: a job, a delivery, a letter.

    A worker counts its attempt when it begins. If its lease runs out it was killed or cut off, which is no attempt: the
    next one does not count another. So that what kills every worker ends too, `settings.JOB_LAPSES` limits those.
    """

    attempts = models.PositiveIntegerField(default=0)
    lapses = models.PositiveIntegerField(
        default=0, db_default=0, help_text="How often a worker was lost while it worked on it: no attempt."
    )
    lease_until = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_given_up(self) -> bool:
        return self.lapses > settings.JOB_LAPSES


def claimed(lease_until: datetime | Expression) -> dict[str, Any]:
    """Return what a worker writes that begins, whether or not another one was lost before it."""
    return {
        # At least this one: an older Larder may have counted none.
        "attempts": _if_lapsed(Greatest(F("attempts"), 1), otherwise=F("attempts") + 1),
        "lapses": _if_lapsed(F("lapses") + 1, otherwise=F("lapses")),
        "lease_until": lease_until,
    }


def taken_back() -> dict[str, Any]:
    """Return what changes in something without a lease, or whose lease has run out: it waits again."""
    return {
        "attempts": _if_lapsed(Greatest(F("attempts") - 1, 0), otherwise=F("attempts")),
        "lapses": _if_lapsed(F("lapses") + 1, otherwise=F("lapses")),
        "lease_until": None,
    }


def lost_worker() -> Case:
    """Return the error of a job whose lease has run out."""
    said = Concat(Value("The worker "), F("worker"), Value(f" {LOST}"), output_field=models.TextField())
    return Case(When(lease_until=None, then=F("error")), default=said, output_field=models.TextField())


def _if_lapsed(change: F | Combinable, *, otherwise: F | Combinable) -> Case:
    return Case(When(lease_until=None, then=otherwise), default=change, output_field=models.IntegerField())


class JobQuerySet(models.QuerySet["Job"]):
    def claimable(self) -> Self:
        """Return jobs that wait or whose worker's lease ran out, except those postponed by an outage."""
        return self.filter(state__in=WORKING).filter(
            Q(lease_until=None) | Q(lease_until__lt=Now()), Q(not_before=None) | Q(not_before__lte=Now())
        )

    def to_ring(self) -> Self:
        """Return claimable jobs without a recent ring: the ring was lost, or the worker died.

        Not what waits for its turn in bulk: `queue.go_on` rings for that.
        """
        return self.claimable().filter(
            Q(rung_at=None, source="") | Q(rung_at__lt=Now() - settings.JOB_RING_AGAIN) | ~Q(lease_until=None)
        )

    def awaited(self) -> Self:
        """Return what a person or a hook waits for, and no work in bulk."""
        return self.filter(source="")

    def rung(self) -> Self:
        """Return what workers have been rung for. That is little, however much work in bulk waits behind it."""
        # By finished_at, not by state: SQLite uses no index whose condition has a parameter.
        return self.filter(finished_at=None, rung_at__isnull=False)

    def behind(self) -> Self:
        """Return what waits until it is rung for, most of it in bulk."""
        return self.filter(state=State.QUEUED, finished_at=None, rung_at=None)

    def in_turn(self) -> Self:
        """Order by urgency: work that a person waits for, then bulk work; in both, namespaces take turns (`turns`)."""
        in_bulk = Case(When(source="", then=0), default=1, output_field=models.IntegerField())
        return self.order_by(in_bulk, "turn", "pk")

    def newest_first(self) -> Self:
        return self.order_by("-created_at", "-pk")

    def waiting_since(self) -> datetime | None:
        """Return when the oldest queued job was created. Postponed jobs do not count."""
        ready = self.filter(state=State.QUEUED).exclude(not_before__gt=Now())
        return ready.order_by("created_at").values_list("created_at", flat=True).first()


class Job(Leased):
    """One piece of work, and the outbox for it (D4). Celery only rings the doorbell.

    `fence` grows with every claim: a worker that slept too long has an old one, and its writes match no row.
    """

    kind = models.CharField(max_length=40, help_text="The name of its Celery task.")
    target = models.BigIntegerField(help_text="Primary key of the object that it works on.")
    state = models.CharField(max_length=10, choices=State.choices, default=State.QUEUED)
    fence = models.PositiveIntegerField(default=0)
    not_before = models.DateTimeField(null=True, blank=True)
    rung_at = models.DateTimeField(null=True, blank=True)
    worker = models.CharField(max_length=120, blank=True, help_text="host:pid of the last worker that claimed it.")
    error = models.TextField(blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    created_by_id = models.BigIntegerField(null=True)
    source = models.CharField(
        max_length=40,
        blank=True,
        default="",
        db_default="",
        help_text="Source of bulk work, such as git 12. Empty: a person or webhook waits for it.",
    )
    share = models.CharField(
        max_length=40, blank=True, default="", db_default="", help_text="Share in the queue, such as namespace 7."
    )
    turn = models.BigIntegerField(default=0, db_default=0, help_text="Lower values go first.")
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
            models.Index(
                fields=["kind", "turn"], condition=Q(finished_at=None, rung_at__isnull=False), name="jobs_rung"
            ),
            models.Index(fields=["source"], condition=Q(finished_at=None, rung_at=None), name="jobs_behind"),
        ]
        permissions = [("retry_job", "Can retry a job"), ("cancel_job", "Can cancel a job")]

    def __str__(self) -> str:
        return f"{self.kind} #{self.target}" if self.row is None else f"{self.kind} {self.row}"


class Heartbeat(models.Model):
    """When a worker last reported, or beat, for /readyz."""

    worker = models.CharField(max_length=120, unique=True)
    queues = models.CharField(max_length=60, db_default="check sign", help_text="Queues that it takes jobs from.")
    at = models.DateTimeField()

    def __str__(self) -> str:
        return self.worker
