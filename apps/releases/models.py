import uuid
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Namespace
from apps.lib.errors import Reason


class Kind(models.TextChoices):
    MODULE = "module"


class State(models.TextChoices):
    """The state machine of D4. `rejected` has reasons to act on; `failed` is Larder's own defect."""

    RECEIVING = "receiving"
    RECEIVED = "received"
    CHECKING = "checking"
    PUBLISHED = "published"
    REJECTED = "rejected"
    FAILED = "failed"


# A release in one of these states holds its version number; rejected and failed ones leave it free for a retry.
LIVE = (State.RECEIVING, State.RECEIVED, State.CHECKING, State.PUBLISHED)
WORKING = (State.RECEIVING, State.RECEIVED, State.CHECKING)


class ReleaseQuerySet(models.QuerySet["Release"]):
    def live(self) -> Self:
        return self.filter(state__in=LIVE)

    def published(self) -> Self:
        """What readers see, and nothing else."""
        return self.filter(state=State.PUBLISHED)

    def newest_first(self) -> Self:
        """By SemVer precedence, in SQL; the primary key only makes the order total."""
        return self.order_by("-sort_key", "-pk")


class Release(models.Model):
    """One version of anything: reserved before anything is known about the bytes, and never changed once published.

    `name` is the address within the namespace: `name/system` of a module. `uploaded_*` describe the bytes that came in,
    `digest` and `size` those that are stored and served; they differ where an archive was repacked (D5).
    """

    public_id = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    kind = models.CharField(max_length=8, choices=Kind.choices)
    namespace = models.ForeignKey(Namespace, models.PROTECT, related_name="releases")
    name = models.CharField(max_length=130)
    version = models.CharField(max_length=128)
    sort_key = models.BinaryField(max_length=600, editable=False, help_text="memcmp order is SemVer precedence (D10).")
    state = models.CharField(max_length=9, choices=State.choices, default=State.RECEIVING, db_index=True)
    reasons = models.JSONField(default=list, blank=True)

    file_name = models.CharField(max_length=255, blank=True, help_text="As the publisher's machine called it.")
    staging_key = models.CharField(max_length=80)
    ticket_digest = models.CharField(max_length=64, blank=True, db_index=True, help_text="sha256 of an unused ticket")
    receiving_until = models.DateTimeField(null=True, blank=True)
    uploaded_digest = models.CharField(max_length=64, blank=True, db_index=True)
    uploaded_size = models.BigIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=64, blank=True, db_index=True)
    size = models.BigIntegerField(null=True, blank=True)

    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="releases")
    token_id = models.BigIntegerField(null=True, blank=True)
    provenance = models.JSONField(default=dict, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    received_at = models.DateTimeField(null=True, blank=True)
    checking_at = models.DateTimeField(null=True, blank=True)
    checked_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    published_at = models.DateTimeField(null=True, blank=True)

    objects = ReleaseQuerySet.as_manager()

    class Meta:
        constraints = [
            # sort_key, not version: 1.0.0+a and 1.0.0+b are one version (D10)
            models.UniqueConstraint(
                fields=["kind", "namespace", "name", "sort_key"],
                condition=Q(state__in=["receiving", "received", "checking", "published"]),
                name="releases_version_once",
            ),
            models.CheckConstraint(
                name="releases_published_is_complete",
                condition=~Q(state="published")
                | Q(published_at__isnull=False, size__isnull=False, digest__regex=r"^[0-9a-f]{64}$"),
            ),
            models.CheckConstraint(
                name="releases_state_known",
                condition=Q(state__in=["receiving", "received", "checking", "published", "rejected", "failed"]),
            ),
        ]
        indexes = [
            models.Index(fields=["kind", "namespace", "name", "-sort_key"], name="releases_newest"),
            models.Index(fields=["-created_at"], name="releases_latest"),
        ]

    def __str__(self) -> str:
        return f"{self.address} {self.version}"

    @property
    def address(self) -> str:
        return f"{self.namespace.name}/{self.name}"

    @property
    def is_working(self) -> bool:
        return self.state in WORKING

    def refusals(self) -> list[Reason]:
        return [Reason.from_dict(reason) for reason in self.reasons]
