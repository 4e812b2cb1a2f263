"""The cleanup rule of a namespace, as a row."""

from datetime import datetime, timedelta

from django.conf import settings
from django.db import models
from django.db.models import Q

from apps.accounts.models import Namespace

MAX_DAYS = 3650
MAX_KEPT = 1000
# A changed rule acts by itself only after this, so that its owners can read what it would do.
SETTLES_AFTER = timedelta(days=1)


class CleanupAction(models.TextChoices):
    """The action on the versions that a rule chooses. Never a purge: both can be undone."""

    DEPRECATE = "deprecate", "Deprecate: they stay listed and served, with a warning on pages and in clients"
    YANK = "yank", "Yank: they are no longer listed; downloads of the exact version and pages still work"


class CleanupRule(models.Model):
    """The rule by which a beat task deprecates or yanks versions of a namespace. At most one a namespace."""

    namespace = models.OneToOneField(Namespace, models.CASCADE, related_name="cleanup_rule")
    enabled = models.BooleanField(default=False, help_text="Runs automatically, once an hour.")
    action = models.CharField(max_length=10, choices=CleanupAction.choices, default=CleanupAction.DEPRECATE)
    prerelease_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Includes pre-releases older than this. Empty: none."
    )
    stable_days = models.PositiveIntegerField(
        null=True, blank=True, help_text="Includes other versions older than this. Empty: none."
    )
    keep_newest = models.PositiveIntegerField(
        default=5, help_text="The number of newest versions of each module and provider that always stay."
    )
    fetched_days = models.PositiveIntegerField(
        default=90, help_text="A version downloaded within this many days stays."
    )
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+")
    changed_at = models.DateTimeField(null=True, blank=True)
    applied_at = models.DateTimeField(null=True, blank=True, help_text="Its last run, automatic or manual.")
    applied_count = models.PositiveIntegerField(default=0, help_text="The number of versions that it changed.")

    class Meta:
        constraints = [
            models.CheckConstraint(name="releases_cleanup_action_known", condition=Q(action__in=["deprecate", "yank"])),
            models.CheckConstraint(name="releases_cleanup_keeps_one", condition=Q(keep_newest__gte=1)),
        ]

    def __str__(self) -> str:
        return f"cleanup of {self.namespace}"

    @property
    def acts_from(self) -> datetime | None:
        """From when on it acts by itself; None while it does not."""
        return self.changed_at + SETTLES_AFTER if self.enabled and self.changed_at else None
