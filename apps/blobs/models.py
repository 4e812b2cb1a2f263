from django.db import models
from django.db.models import Q


class State(models.TextChoices):
    # The stored values and the column below keep their old names: during an update, processes of two releases share the
    # table, and an older one would take an unknown state for bytes that it may refer to.
    PENDING = "claimed", "Pending"  # written before the bytes, so that a sweep sees them (D3)
    READY = "ready"
    DELETING = "leaving", "Deleting"  # its bytes are being removed: nothing may refer to it


class Problem(models.TextChoices):
    NONE = "", "none"
    MISSING = "missing"
    DAMAGED = "damaged"


class Blob(models.Model):
    """Bytes in storage under their sha256, written once."""

    digest = models.CharField(max_length=64, unique=True, help_text="sha256, 64 lower-case hex digits")
    sha512 = models.CharField(
        max_length=128, unique=True, null=True, blank=True, help_text="Set for blobs that were pushed over OCI."
    )
    size = models.BigIntegerField(help_text="Size in bytes.")
    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    deleting_until = models.DateTimeField(
        db_column="leaving_until", null=True, blank=True, help_text="One process may delete it until this time."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    checked_at = models.DateTimeField(null=True, blank=True, help_text="When its bytes were last verified.")
    problem = models.CharField(
        max_length=8,
        choices=Problem.choices,
        default=Problem.NONE,
        blank=True,
        help_text="Result of that verification.",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(name="blobs_digest_is_sha256", condition=Q(digest__regex=r"^[0-9a-f]{64}$")),
            models.CheckConstraint(name="blobs_size_not_negative", condition=Q(size__gte=0)),
        ]
        indexes = [
            models.Index(fields=["created_at"], name="blobs_by_day"),
            models.Index(fields=["checked_at", "id"], name="blobs_by_check"),
            models.Index(fields=["problem"], condition=~Q(problem=""), name="blobs_with_problem"),
            models.Index(fields=["state"], condition=~Q(state="ready"), name="blobs_not_ready"),
        ]

    def __str__(self) -> str:
        return f"sha256:{self.digest}"


class Run(models.Model):
    """The last result of a backup, or of a check of what is stored, for /metrics and the check-up."""

    what = models.CharField(max_length=20, unique=True)
    ended_at = models.DateTimeField()
    is_good = models.BooleanField()
    good_at = models.DateTimeField(null=True, help_text="When the check last succeeded.")

    def __str__(self) -> str:
        return self.what
